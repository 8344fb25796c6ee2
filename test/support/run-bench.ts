import type { Answer, ExchangeRequest } from '../../src/core/exchange.js';
import { STREAMS, type StreamName } from '../../src/core/stream.js';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { parseSink } from '../../src/sinks/registry.js';
import { listRun } from '../../src/spool/listing.js';
import { NEW_SINK_MARKS, type SinkMarks } from '../../src/spool/marks.js';
import { readRunRecord } from '../../src/spool/run-record.js';
import { BatchReader } from '../../src/upload/batch-reader.js';
import { BufferPool } from '../../src/upload/buffer-pool.js';
import { Destination } from '../../src/upload/destination.js';
import { RunAtDestination } from '../../src/upload/run-at-destination.js';
import { ModelReceiver, ModelTransport } from './model-receiver.js';
import { PreparedRun, type PreparedSettings } from './prepared-spool.js';
import { temporaryDirectory } from './temporary-directory.js';

type Answering = (request: ExchangeRequest) => Answer | Promise<Answer>;

/** One run on its way to a receiver that answers as it is told. */
export class RunBench {
  readonly run: PreparedRun;
  readonly receiver = new ModelReceiver();
  readonly transport: ModelTransport;
  readonly complaints: string[] = [];
  readonly taken: Buffer[] = [];
  answer: Answering = (request) => this.receiver.handle(request);
  nowMs = 0;
  reads = 0;
  destination!: Destination;
  way!: RunAtDestination;
  readonly #readers = new Map<StreamName, BatchReader>();

  constructor(settings: PreparedSettings) {
    this.run = new PreparedRun(temporaryDirectory(), settings);
    this.transport = new ModelTransport((request) => this.answer(request));
  }

  async begin(marks: Partial<SinkMarks> = {}, batchMaxBytes = 4096): Promise<void> {
    await this.run.record();
    const complain = (_: unknown, message: string): void => void this.complaints.push(message);
    const quiet = (): void => undefined;
    const log = { debug: quiet, info: quiet, warn: complain, error: complain };
    const clock = { wallMs: () => 0, wallNs: () => 0n, monotonicMs: () => this.nowMs };
    const sink = parseSink('shipper+http://h');
    const { transport } = this;
    const parts = { sink, transport, clock, random: () => 0, log, maxInFlight: 4 };
    this.destination = new Destination(parts);
    for (const stream of STREAMS) {
      this.#readers.set(stream, new BatchReader(this.#countingFs(), this.run.directory));
    }
    await this.#list();
    const { record } = await readRunRecord(nodeFileSystem, this.run.directory, this.run.id);
    const own = { destination: this.destination, clock, log, batchMaxBytes };
    const pool = new BufferPool(64 * 1024);
    const spied = {
      take: () => this.#spy(pool.take()),
      give: (buffer: Buffer) => pool.give(buffer),
    };
    const all = { ...own, pool: spied as unknown as BufferPool, readers: this.#readers };
    this.way = new RunAtDestination(all, record, { ...NEW_SINK_MARKS, ...marks });
  }

  async refresh(): Promise<void> {
    await this.#list();
    const { record } = await readRunRecord(nodeFileSystem, this.run.directory, this.run.id);
    this.way.refreshed(record);
  }

  /** Steps until there is nothing to do; gives up where there always is. */
  async settle(): Promise<void> {
    for (let steps = 0; steps < 50; steps += 1) {
      const step = this.way.step();
      if (step === undefined) return;
      await step;
    }
  }

  get paths(): string[] {
    return this.transport.requests.map(({ method, path, headers }) => {
      const range = headers['shipper-range']?.replaceAll(/[^\d,]/g, '') ?? '';
      return `${method} ${path.replace(/^.*runs.\w+.?/, '')} ${range}`
        .replaceAll(/ +/g, ' ')
        .trim();
    });
  }

  async #list(): Promise<void> {
    const { sealed } = await listRun(nodeFileSystem, this.run.directory);
    for (const [stream, reader] of this.#readers) reader.setSegments(sealed.get(stream) ?? []);
  }

  #countingFs(): FileSystem {
    return {
      ...nodeFileSystem,
      openRead: (path) => {
        this.reads += 1;
        return nodeFileSystem.openRead(path);
      },
    };
  }

  #spy(buffer: Buffer): Buffer {
    this.taken.push(buffer);
    return buffer;
  }
}
