/**
 * What a simulated disk consists of: files and directories, each as programs see it and as it would
 * be found after a power cut.
 */

/** A disk loses or keeps this much of a file at once. */
const SECTOR_BYTES = 512;

/** Picks one of so many possibilities: 0 … options - 1. */
export type Decide = (options: number) => number;

export type Node = SimulatedFile | SimulatedDirectory;

/** What a power cut makes of the sectors that were written and not synced. */
const FATES = ['lost', 'kept', 'zeroed', 'torn', 'mixed'] as const;

/**
 * A file. Its bytes survive a power cut once they are synced. A sync that fails drops them: a later
 * one succeeds without having written them, as on Linux.
 */
export class SimulatedFile {
  readonly kind = 'file';
  #current: Buffer = Buffer.alloc(0);
  #durable: Buffer = Buffer.alloc(0);
  /** Sectors that were written since the last sync. */
  readonly #dirty = new Set<number>();

  get bytes(): Buffer {
    return this.#current;
  }

  append(bytes: Buffer): void {
    this.#touch(this.#current.length, bytes.length);
    this.#current = Buffer.concat([this.#current, bytes]);
  }

  truncate(length: number): void {
    const grown = Buffer.alloc(Math.max(0, length - this.#current.length));
    this.#touch(length, 0);
    this.#current = Buffer.concat([this.#current.subarray(0, length), grown]);
  }

  sync(): void {
    this.#durable = this.#synced();
    this.#dirty.clear();
  }

  failSync(): void {
    this.#dirty.clear();
  }

  copy(): SimulatedFile {
    const copy = new SimulatedFile();
    copy.#current = this.#current;
    copy.#durable = this.#durable;
    for (const sector of this.#dirty) copy.#dirty.add(sector);
    return copy;
  }

  afterPowerCut(decide: Decide): SimulatedFile {
    const found = new SimulatedFile();
    found.#current = this.#isSynced() ? this.#durable : this.#found(decide);
    found.#durable = found.#current;
    return found;
  }

  #isSynced(): boolean {
    return this.#dirty.size === 0 && this.#current.length === this.#durable.length;
  }

  #found(decide: Decide): Buffer {
    switch (FATES[decide(FATES.length)]!) {
      case 'lost':
        return this.#durable;
      case 'kept':
        return this.#synced();
      case 'zeroed':
        return this.#sectors(() => 'zero');
      case 'torn': {
        const [from, to] = [this.#durable.length, this.#current.length].sort((a, b) => a - b);
        return this.#synced().subarray(0, from! + decide(Math.max(1, to! - from!)));
      }
      case 'mixed':
        return this.#sectors(() => (['old', 'new', 'zero'] as const)[decide(3)]!);
    }
  }

  /** What a sync makes durable now: the length, and the sectors that no failed sync has dropped. */
  #synced(): Buffer {
    return this.#sectors(() => 'new');
  }

  #sectors(fateOf: () => 'old' | 'new' | 'zero'): Buffer {
    const found = Buffer.alloc(this.#current.length);
    this.#durable.copy(found);
    for (const sector of [...this.#dirty].sort((a, b) => a - b)) {
      const from = Math.min(found.length, sector * SECTOR_BYTES);
      const to = Math.min(found.length, from + SECTOR_BYTES);
      const fate = fateOf();
      if (fate === 'new') this.#current.copy(found, from, from, to);
      // A sector that was synced before keeps what it had: it is written whole or not at all.
      if (fate === 'zero') found.fill(0, Math.min(to, Math.max(from, this.#durable.length)), to);
    }
    return found;
  }

  #touch(from: number, length: number): void {
    const last = Math.floor(Math.max(from, from + length - 1) / SECTOR_BYTES);
    for (let sector = Math.floor(from / SECTOR_BYTES); sector <= last; sector += 1) {
      this.#dirty.add(sector);
    }
  }
}

/** One step of a directory's history: a rename removes and adds at once. */
interface Change {
  readonly removed?: string;
  readonly added?: readonly [name: string, node: Node];
}

/** A directory. Each change of its entries survives a power cut once the directory is synced. */
export class SimulatedDirectory {
  readonly kind = 'directory';
  #entries = new Map<string, Node>();
  #durable = new Map<string, Node>();
  #unsynced: Change[] = [];

  get entries(): ReadonlyMap<string, Node> {
    return this.#entries;
  }

  change(change: Change): void {
    apply(this.#entries, change);
    this.#unsynced.push(change);
  }

  sync(): void {
    this.#durable = new Map(this.#entries);
    this.#unsynced = [];
  }

  /** @param copies by original, so that a node that has two names stays one */
  copy(copies = new Map<Node, Node>()): SimulatedDirectory {
    const copyOf = (node: Node): Node => {
      const known = copies.get(node);
      if (known !== undefined) return known;
      const copy = node.kind === 'file' ? node.copy() : node.copy(copies);
      copies.set(node, copy);
      return copy;
    };
    const copy = new SimulatedDirectory();
    for (const [name, node] of this.#entries) copy.#entries.set(name, copyOf(node));
    for (const [name, node] of this.#durable) copy.#durable.set(name, copyOf(node));
    copy.#unsynced = this.#unsynced.map(({ added, ...change }) =>
      added === undefined ? change : { ...change, added: [added[0], copyOf(added[1])] },
    );
    return copy;
  }

  afterPowerCut(decide: Decide): SimulatedDirectory {
    const entries = new Map(this.#durable);
    for (const change of this.#unsynced) if (decide(2) === 1) apply(entries, change);
    const found = new SimulatedDirectory();
    for (const [name, node] of entries) found.#entries.set(name, node.afterPowerCut(decide));
    found.#durable = new Map(found.#entries);
    return found;
  }
}

function apply(entries: Map<string, Node>, { removed, added }: Change): void {
  if (removed !== undefined) entries.delete(removed);
  if (added !== undefined) entries.set(added[0], added[1]);
}
