import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { newRunId } from '../../src/core/run-id.js';
import type { ExitStatus } from '../../src/core/run.js';
import type { StreamName } from '../../src/core/stream.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { encodeHeader } from '../../src/frames/frame.js';
import { NEW_SINK_MARKS, writeMarks, type SinkMarks } from '../../src/spool/marks.js';
import { ownIdentity, type ProcessIdentity } from '../../src/spool/process-identity.js';
import { writeRunRecord, type RunRecord } from '../../src/spool/run-record.js';
import { openSegmentName, sealedSegmentName } from '../../src/spool/segment-name.js';

/** A process of an earlier boot of this machine: dead for certain. */
export function deadIdentity(): ProcessIdentity {
  return { ...ownIdentity(), bootId: 'an-earlier-boot' };
}

export interface PreparedSettings {
  readonly name?: string;
  readonly destinations?: readonly string[];
  /** Default: a dead one. */
  readonly writer?: ProcessIdentity | null;
  /** Makes it a run that has ended, with its totals. */
  readonly exit?: ExitStatus;
}

/** A run that is laid into a spool file by file, as its writer would have left it. */
export class PreparedRun {
  readonly id: string = newRunId(Date.now());
  readonly directory: string;
  readonly #settings: PreparedSettings;
  readonly #next = new Map<StreamName, number>();
  readonly #bytes = new Map<StreamName, number>();

  constructor(spool: string, settings: PreparedSettings = {}) {
    this.directory = join(spool, 'runs', this.id);
    this.#settings = settings;
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    mkdirSync(join(spool, 'wake'), { recursive: true, mode: 0o700 });
  }

  /**
   * A sealed segment of one frame with these lines, each its newline included. Returns its path.
   */
  sealed(stream: StreamName, lines: readonly string[], timeNs?: bigint): string {
    const first = this.#first(stream);
    const frame = this.#frame(stream, lines, timeNs);
    return this.file(sealedSegmentName(stream, first, first + lines.length - 1), frame);
  }

  /** A segment as a writer that was killed leaves it; `tail` is what it had begun to write. */
  open(stream: StreamName, lines: readonly string[], tail = ''): string {
    const first = this.#first(stream);
    const frame = lines.length === 0 ? Buffer.alloc(0) : this.#frame(stream, lines);
    return this.file(openSegmentName(stream, first), Buffer.concat([frame, Buffer.from(tail)]));
  }

  /** Any file in the run's directory. */
  file(name: string, content: string | Buffer): string {
    const path = join(this.directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }

  async marks(sinks: Readonly<Record<string, Partial<SinkMarks>>>): Promise<void> {
    const whole = Object.entries(sinks).map(([id, marks]) => [id, { ...NEW_SINK_MARKS, ...marks }]);
    await writeMarks(nodeFileSystem, this.directory, { sinks: Object.fromEntries(whole) });
  }

  /** Writes `run.json`, with the totals of what was laid in so far when the run has ended. */
  async record(): Promise<RunRecord> {
    const { name = 'prepared', destinations = [], writer = deadIdentity(), exit } = this.#settings;
    const streams = [...this.#next].map(([stream, next]) => [
      stream,
      { last: next - 1, bytes: this.#bytes.get(stream) ?? 0, sha256: null },
    ]);
    const end = { streams: Object.fromEntries(streams), gaps: 0, endedAt: STARTED_AT };
    const record: RunRecord = {
      v: 1,
      id: this.id,
      name,
      command: ['true'],
      labels: {},
      host: hostname(),
      pid: writer?.pid ?? 0,
      startedAt: STARTED_AT,
      shipperVersion: '0.0.0',
      destinations,
      writer,
      end: exit === undefined ? null : { ...end, exit },
    };
    await writeRunRecord(nodeFileSystem, this.directory, record);
    return record;
  }

  #first(stream: StreamName): number {
    return this.#next.get(stream) ?? 1;
  }

  #frame(
    stream: StreamName,
    lines: readonly string[],
    timeNs = BigInt(Date.now()) * 1_000_000n,
  ): Buffer {
    const seq = this.#first(stream);
    const body = Buffer.from(lines.join(''));
    this.#next.set(stream, seq + lines.length);
    this.#bytes.set(stream, (this.#bytes.get(stream) ?? 0) + body.length);
    const header = { seq, n: lines.length, t: String(timeNs), o: seq, len: body.length };
    return Buffer.concat([encodeHeader(header, [body]), body]);
  }
}

const STARTED_AT = '2025-12-01T00:00:00.000Z';
