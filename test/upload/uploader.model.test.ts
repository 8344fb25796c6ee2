import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer, ExchangeRequest } from '../../src/core/exchange.js';
import type { FileSystem } from '../../src/disk/file-system.js';
import { nodeFileSystem } from '../../src/disk/node-file-system.js';
import { parseSegmentName } from '../../src/spool/segment-name.js';
import { buryLocks, freezable } from '../support/freezable.js';
import { json, ModelReceiver, ModelTransport, problem } from '../support/model-receiver.js';
import { PreparedRun } from '../support/prepared-spool.js';
import { runIds } from '../support/spool.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { LOST, uploading } from '../support/uploading.js';

const URL = 'shipper+http://h';

/** What may happen to a request. The rest of them are carried as they should be. */
const FATES = [
  'carry',
  'lost',
  'answer lost',
  'twice',
  'late',
  'overtaken by the next',
  'busy',
  'in part',
  'web page',
  'run unknown',
  'gap',
  'mark from the future',
] as const;
type Fate = (typeof FATES)[number];

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function suffer(
  receiver: ModelReceiver,
  request: ExchangeRequest,
  fate: Fate,
): Promise<Answer> {
  switch (fate) {
    case 'carry':
      return receiver.handle(request);
    case 'lost':
      return LOST;
    case 'answer lost':
      receiver.handle(request);
      return LOST;
    case 'twice':
      receiver.handle(request);
      return receiver.handle(request);
    case 'late':
      await pause(3);
      return receiver.handle(request);
    case 'overtaken by the next': {
      const answer = receiver.handle(request);
      await pause(3);
      return answer;
    }
    case 'busy':
      return problem(503, 'unavailable', { 'retry-after': '0' });
    case 'in part':
      return receiver.handle(request, 3);
    case 'web page':
      return { kind: 'response', status: 200, headers: {}, body: Buffer.from('<html>') };
    case 'run unknown':
      // Who creates a run is not told that.
      if (request.method === 'PUT') return receiver.handle(request);
      return problem(404, 'run-unknown');
    case 'gap':
      if (request.method === 'PUT') return receiver.handle(request);
      return problem(409, 'gap', { 'shipper-accepted': '0' });
    case 'mark from the future':
      return json(200, {}, { 'shipper-accepted': '1000000' });
  }
}

function linesOf(name: string, first: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${name} ${String(first + i)}\n`);
}

/** A run that has ended, or one whose wrapper was killed, with an open segment. */
async function layRun(spool: string, wasKilled: boolean): Promise<PreparedRun> {
  const run = new PreparedRun(spool, wasKilled ? {} : { exit: { code: 0 } });
  for (let at = 1; at <= 140; at += 7) run.sealed('stdout', linesOf('out', at, 7));
  for (let at = 1; at <= 20; at += 5) run.sealed('stderr', linesOf('err', at, 5));
  if (wasKilled) run.open('stdout', linesOf('out', 141, 4), '{"v":1,"seq":145');
  else run.sealed('stdout', linesOf('out', 141, 4));
  await run.record();
  return run;
}

/** Fails the test when a segment is removed whose entries have not arrived. */
function watchful(receiver: ModelReceiver, runId: string, violations: string[]): FileSystem {
  return {
    ...nodeFileSystem,
    unlink: (path) => {
      const segment = parseSegmentName(path.slice(path.lastIndexOf('/') + 1));
      if (segment?.state === 'sealed' && receiver.mark(runId, segment.stream) < segment.last) {
        violations.push(path);
      }
      return nodeFileSystem.unlink(path);
    },
  };
}

describe('Uploader', () => {
  it('brings every stream exactly, and removes nothing unconfirmed, whatever happens', async () => {
    const history = fc.record({
      fates: fc.array(fc.constantFrom(...FATES), { maxLength: 50 }),
      /** After so many requests the uploader is killed, and begun anew. */
      kills: fc.array(fc.nat(25), { maxLength: 3 }),
      wasKilled: fc.boolean(),
      batchMaxBytes: fc.integer({ min: 100, max: 3000 }),
    });
    await fc.assert(
      fc.asyncProperty(history, async ({ fates, kills, wasKilled, batchMaxBytes }) => {
        const spool = temporaryDirectory();
        const run = await layRun(spool, wasKilled);
        const receiver = new ModelReceiver();
        const violations: string[] = [];
        let sent = 0;
        const start = (killAfter: number): { end: Promise<unknown>; death: Promise<void> } => {
          const disk = freezable(watchful(receiver, run.id, violations));
          let die = (): void => undefined;
          const death = new Promise<void>((resolve) => (die = resolve));
          let left = killAfter;
          const transport = new ModelTransport((request) => {
            left -= 1;
            sent += 1;
            if (disk.isFrozen || left < 0) {
              disk.freeze();
              die();
              return new Promise(() => undefined);
            }
            return suffer(receiver, request, fates[sent - 1] ?? 'carry');
          });
          const { run: upload } = uploading(
            spool,
            { [URL]: transport },
            { fs: disk.fs, batchMaxBytes },
          );
          return { end: upload(), death };
        };
        for (const killAfter of kills) {
          const { end, death } = start(killAfter);
          await Promise.race([end, death]);
          buryLocks(run.directory);
        }
        expect(await start(Number.POSITIVE_INFINITY).end).toBe('done');
        expect(violations).toEqual([]);
        expect(receiver.text(run.id, 'stdout')).toBe(linesOf('out', 1, 144).join(''));
        expect(receiver.text(run.id, 'stderr')).toBe(linesOf('err', 1, 20).join(''));
        expect(receiver.runs.get(run.id)?.isFinished).toBe(true);
        expect(runIds(spool)).toEqual([]);
        expect(sent).toBeLessThan(400);
        rmSync(spool, { recursive: true });
      }),
      { numRuns: 60 },
    );
  }, 120_000);
});
