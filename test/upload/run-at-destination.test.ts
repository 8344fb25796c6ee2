import { rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/core/exchange.js';
import { ownIdentity } from '../../src/spool/process-identity.js';
import { json, problem } from '../support/model-receiver.js';
import type { PreparedSettings } from '../support/prepared-spool.js';
import { RunBench } from '../support/run-bench.js';
import { LOST } from '../support/uploading.js';

const ENDED: PreparedSettings = { exit: { code: 0 } };
const LIVE: PreparedSettings = { writer: ownIdentity() };

function accepted(mark: number): Answer {
  return json(200, {}, { 'shipper-accepted': String(mark) });
}

describe('RunAtDestination', () => {
  it('opens a run, sends its streams, and finishes it', async () => {
    const bench = new RunBench(ENDED);
    bench.run.sealed('stdout', ['a\n', 'b\n']);
    bench.run.sealed('stderr', ['c\n']);
    await bench.begin();
    expect(bench.way.isIdle).toBe(false);
    expect(bench.way.settled('stdout')).toBe(0);
    await bench.settle();
    expect(bench.paths.sort()).toEqual([
      'POST finish',
      'POST streams/stderr 1,1',
      'POST streams/stdout 1,2',
      'PUT',
    ]);
    expect([bench.way.isFinished, bench.way.isIdle]).toEqual([true, true]);
    expect([bench.way.settled('stdout'), bench.way.settled('stderr')]).toEqual([2, 1]);
    expect(bench.way.marks).toMatchObject({ finished: true, marks: { stdout: 2, stderr: 1 } });
    expect(bench.destination.stats).toMatchObject({ requests: 4, batches: 2, entries: 3 });
  });

  it('waits for more of a run that goes on, and does nothing meanwhile', async () => {
    const bench = new RunBench(LIVE);
    bench.run.sealed('stdout', ['a\n']);
    await bench.begin();
    await bench.settle();
    expect([bench.way.isIdle, bench.way.isFinished]).toEqual([true, false]);
    bench.run.sealed('stdout', ['b\n']);
    await bench.refresh();
    expect(bench.way.isIdle).toBe(false);
    await bench.settle();
    expect(bench.receiver.text(bench.run.id)).toBe('a\nb\n');
  });

  it('asks nobody about what is known to be finished and whole', async () => {
    const bench = new RunBench(ENDED);
    bench.run.sealed('stdout', ['a\n']);
    await bench.begin({ finished: true, marks: { stdout: 1 } });
    expect([bench.way.isFinished, bench.way.settled('stdout')]).toEqual([true, 1]);
    expect(bench.way.step()).toBeUndefined();
  });

  it('asks again where more is sealed than was finished', async () => {
    const bench = new RunBench(ENDED);
    bench.run.sealed('stdout', ['a\n']);
    bench.run.sealed('stdout', ['b\n']);
    await bench.begin({ finished: true, marks: { stdout: 1 } });
    expect([bench.way.isFinished, bench.way.settled('stdout')]).toEqual([false, 0]);
    await bench.settle();
    expect(bench.complaints[0]).toMatch(/it has lost what it had confirmed/);
    expect(bench.receiver.text(bench.run.id)).toBe('a\nb\n');
  });

  it.each<[string, object]>([
    ['a mark of what was never sealed', { epoch: 1, finished: false, marks: { stdout: 1000 } }],
    ['that a run is finished which goes on', { epoch: 1, finished: true, marks: { stdout: 2 } }],
  ])('removes nothing on the word of a destination that tells %s', async (_, state) => {
    const bench = new RunBench(LIVE);
    bench.run.sealed('stdout', ['a\n', 'b\n']);
    await bench.begin();
    bench.answer = () => json(200, state);
    await bench.settle();
    expect([bench.way.isStopped, bench.way.settled('stdout')]).toEqual([true, 0]);
    expect(bench.complaints).toHaveLength(1);
    expect(bench.transport.requests).toHaveLength(1);
  });

  it('stops when a segment appears that lies before what was confirmed', async () => {
    const bench = new RunBench(LIVE);
    await bench.begin();
    bench.answer = () => json(200, { epoch: 1, finished: false, marks: { stdout: 1000 } });
    await bench.settle();
    expect(bench.way.isStopped).toBe(false);
    bench.run.sealed('stdout', ['a\n']);
    await bench.refresh();
    expect([bench.way.isStopped, bench.way.settled('stdout')]).toEqual([true, 0]);
    expect(bench.complaints[0]).toMatch(/confirms stdout up to 1000, which was never sent/);
  });

  it('goes on after everything was sent and removed before', async () => {
    const bench = new RunBench(LIVE);
    rmSync(bench.run.sealed('stdout', ['a\n', 'b\n']));
    await bench.begin();
    bench.answer = (request) =>
      request.method === 'PUT'
        ? json(200, { epoch: 1, finished: false, marks: { stdout: 2 } })
        : accepted(3);
    await bench.settle();
    bench.run.sealed('stdout', ['c\n']);
    await bench.refresh();
    await bench.settle();
    expect(bench.paths).toEqual(['PUT', 'POST streams/stdout 3,3']);
    expect(bench.way.settled('stdout')).toBe(3);
  });

  it('lets nothing be removed once a mark has gone back, and sends it again', async () => {
    const bench = new RunBench(LIVE);
    for (const line of ['a\n', 'b\n', 'c\n']) bench.run.sealed('stdout', [line]);
    await bench.begin();
    await bench.settle();
    expect(bench.way.settled('stdout')).toBe(3);
    bench.receiver.runs.get(bench.run.id)?.entries.stdout.splice(1);
    bench.run.sealed('stdout', ['d\n']);
    await bench.refresh();
    await bench.way.step();
    expect(bench.way.settled('stdout')).toBe(0);
    await bench.settle();
    expect(bench.receiver.text(bench.run.id)).toBe('a\nb\nc\nd\n');
    expect(bench.way.settled('stdout')).toBe(4);
    expect(bench.complaints).toEqual([
      expect.stringContaining('stdout 2 to 3; the spool still has it') as string,
    ]);
  });

  it('opens a run again only when everything that is under way is back', async () => {
    const bench = new RunBench(LIVE);
    for (const line of ['a\n', 'b\n']) bench.run.sealed('stdout', [line]);
    await bench.begin({}, 1);
    await bench.way.step();
    let answerFirst: (answer: Answer) => void = () => undefined;
    bench.answer = (request) =>
      request.headers['shipper-range'] === 'first=1, last=1'
        ? new Promise<Answer>((resolve) => (answerFirst = resolve))
        : problem(404, 'run-unknown');
    const first = bench.way.step();
    // The second batch can be read once the first is on its way.
    while (bench.transport.requests.length < 2)
      await new Promise((resolve) => setImmediate(resolve));
    await bench.way.step();
    expect(bench.way.step()).toBeUndefined();
    expect(bench.way.isIdle).toBe(false);
    answerFirst(accepted(1));
    await first;
    bench.answer = (request) => bench.receiver.handle(request);
    await bench.settle();
    expect(bench.receiver.text(bench.run.id)).toBe('a\nb\n');
  });

  it('never uses a buffer again that a failed request may still read', async () => {
    const bench = new RunBench(LIVE);
    bench.run.sealed('stdout', ['a\n']);
    await bench.begin();
    await bench.way.step();
    const fates: Answer[] = [LOST, problem(503, 'busy'), problem(413, 'too-large'), accepted(1)];
    const held = new Map<Buffer, string>();
    bench.answer = (request) => {
      held.set(request.body!, request.body!.toString());
      return fates.shift()!;
    };
    bench.run.sealed('stdout', ['b\n']);
    for (let count = 0; count < 4; count += 1) {
      await bench.refresh();
      await bench.way.step();
    }
    expect(new Set(bench.taken.slice(0, 4)).size).toBe(4);
    for (const [body, text] of held) expect(body.toString()).toBe(text);
  });

  it('uses the buffer of an accepted batch again', async () => {
    const bench = new RunBench(LIVE);
    for (const line of ['a\n', 'b\n', 'c\n']) bench.run.sealed('stdout', [line]);
    await bench.begin({}, 1);
    await bench.settle();
    expect(bench.taken).toHaveLength(3);
    expect(new Set(bench.taken).size).toBe(1);
  });

  it('stops a run of which not even one frame is taken, and says so once', async () => {
    const bench = new RunBench(ENDED);
    bench.run.sealed('stdout', ['a\n', 'b\n']);
    bench.run.sealed('stdout', ['c\n']);
    await bench.begin();
    bench.answer = (request) =>
      request.method === 'PUT' ? bench.receiver.handle(request) : problem(413, 'too-large');
    await bench.settle();
    expect(bench.way.isStopped).toBe(true);
    expect(bench.paths).toEqual(['PUT', 'POST streams/stdout 1,3', 'POST streams/stdout 1,2']);
    expect(bench.complaints).toEqual([
      expect.stringContaining('takes no request of this size, not even 1 to 2 alone') as string,
    ]);
  });

  it('says once that a run is refused, by however many requests', async () => {
    const bench = new RunBench(LIVE);
    for (const line of ['a\n', 'b\n']) bench.run.sealed('stdout', [line]);
    await bench.begin({}, 1);
    await bench.way.step();
    const answers: ((answer: Answer) => void)[] = [];
    bench.answer = () => new Promise<Answer>((resolve) => answers.push(resolve));
    const first = bench.way.step();
    while (answers.length < 1) await new Promise((resolve) => setImmediate(resolve));
    const second = bench.way.step();
    while (answers.length < 2) await new Promise((resolve) => setImmediate(resolve));
    for (const answer of answers) answer(problem(409, 'fenced'));
    await first;
    await second;
    expect(bench.complaints).toHaveLength(1);
    expect(bench.way.marks.lastError).toBe('another uploader has taken the run over');
    expect(bench.way.step()).toBeUndefined();
  });

  it('delivers one stream beside a damaged one, and keeps in mind what is wrong', async () => {
    const bench = new RunBench(LIVE);
    writeFileSync(bench.run.sealed('stdout', ['a\n']), 'nonsense');
    bench.run.sealed('stderr', ['b\n']);
    await bench.begin();
    await bench.settle();
    for (const line of ['c\n', 'd\n']) {
      bench.run.sealed('stderr', [line]);
      await bench.refresh();
      await bench.settle();
    }
    expect(bench.receiver.text(bench.run.id, 'stderr')).toBe('b\nc\nd\n');
    expect(bench.complaints).toHaveLength(1);
    expect(bench.way.isIdle).toBe(true);
    expect(bench.way.marks.lastError).toMatch(/000000000001.seg at byte 0: no header line/);
  });

  it('reads what could not be read again after a while, and not at each bell', async () => {
    const bench = new RunBench(LIVE);
    const path = bench.run.sealed('stdout', ['a\n']);
    const name = path.slice(path.lastIndexOf('/') + 1);
    await bench.begin();
    bench.run.file(name, 'nonsense');
    await bench.settle();
    const { reads } = bench;
    for (let bell = 0; bell < 5; bell += 1) {
      await bench.refresh();
      await bench.settle();
    }
    expect(bench.reads).toBe(reads);
    bench.nowMs += 2000;
    await bench.refresh();
    await bench.settle();
    expect(bench.reads).toBeGreaterThan(reads);
  });

  it('says which entries are missing at the end of a run, and does not finish it', async () => {
    const bench = new RunBench(ENDED);
    bench.run.sealed('stdout', ['a\n']);
    rmSync(bench.run.sealed('stdout', ['b\n', 'c\n']));
    await bench.begin();
    await bench.settle();
    await bench.refresh();
    await bench.settle();
    expect(bench.paths).toEqual(['PUT', 'POST streams/stdout 1,1']);
    expect(bench.complaints).toEqual([
      expect.stringContaining('stdout any further: entries 2 to 3 are missing') as string,
    ]);
    expect([bench.way.isFinished, bench.way.isIdle]).toEqual([false, true]);
  });

  it('looks at the marks again when entries are missing at a finish', async () => {
    const bench = new RunBench(ENDED);
    bench.run.sealed('stdout', ['a\n']);
    await bench.begin();
    let finishes = 0;
    bench.answer = (request) => {
      if (!request.path.endsWith('finish')) return bench.receiver.handle(request);
      finishes += 1;
      if (finishes > 1) return bench.receiver.handle(request);
      bench.receiver.runs.delete(bench.run.id);
      return problem(409, 'gap');
    };
    await bench.settle();
    expect(bench.way.isFinished).toBe(true);
    expect(bench.receiver.text(bench.run.id)).toBe('a\n');
  });

  it('takes a higher epoch than anybody at each opening', async () => {
    const bench = new RunBench(LIVE);
    bench.run.sealed('stdout', ['a\n']);
    await bench.begin({ epoch: 4 });
    bench.receiver.handle({
      method: 'PUT',
      path: `/v1/runs/${bench.run.id}`,
      headers: {},
      body: undefined,
    });
    bench.receiver.runs.get(bench.run.id)!.epoch = 7;
    await bench.settle();
    expect(bench.transport.requests.at(-1)?.headers['shipper-epoch']).toBe('8');
    expect(bench.way.marks.epoch).toBe(8);
  });

  it('remembers the newest trouble, and forgets it with the next confirmation', async () => {
    const bench = new RunBench(LIVE);
    bench.run.sealed('stdout', ['a\n']);
    await bench.begin();
    bench.answer = () => LOST;
    await bench.way.step();
    expect(bench.way.marks.lastError).toBe('reset');
    bench.answer = () => problem(404, 'not-found');
    await bench.way.step();
    expect(bench.destination.isStopped).toBe(true);
    expect(bench.way.isStopped).toBe(false);
    bench.answer = (request) => bench.receiver.handle(request);
    await bench.settle();
    expect(bench.way.marks.lastError).toBeNull();
    expect(bench.destination.isStopped).toBe(false);
  });
});
