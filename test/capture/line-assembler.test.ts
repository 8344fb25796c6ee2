import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineAssembler } from '../../src/capture/line-assembler.js';
import { countEntries } from '../../src/frames/entries.js';

interface Emitted {
  readonly body: Buffer;
  readonly entries: number;
}

/** Feeds reads through one reused buffer, as the reader does, and copies what comes out. */
function assemble(reads: readonly Buffer[], maxEntryBytes: number): Emitted[] {
  const emitted: Emitted[] = [];
  const assembler = new LineAssembler(maxEntryBytes, (parts, entries) => {
    emitted.push({ body: Buffer.concat(parts), entries });
  });
  const reused = Buffer.alloc(Math.max(1, ...reads.map((read) => read.length)));
  for (const read of reads) {
    read.copy(reused);
    assembler.push(reused.subarray(0, read.length));
    reused.fill(0xff);
  }
  assembler.flush();
  return emitted;
}

function entriesOf(emitted: readonly Emitted[]): string[] {
  return emitted.flatMap(({ body }) => body.toString('latin1').match(/[^\n]*\n|[^\n]+$/g) ?? []);
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const reads: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    reads.push(bytes.subarray(at, at + size));
    at += size;
  }
  return reads;
}

/** Mostly short lines, some long, some empty, with every kind of byte. */
const output = fc
  .array(
    fc.oneof(fc.constant(Buffer.from('\n')), fc.uint8Array({ maxLength: 40 }).map(Buffer.from)),
    {
      maxLength: 60,
    },
  )
  .map((parts) => Buffer.concat(parts));

describe('LineAssembler', () => {
  it('gives the bytes back exactly, however the reads were cut', () => {
    fc.assert(
      fc.property(
        output,
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 30 }),
        (bytes, sizes, max) => {
          const emitted = assemble(cut(bytes, sizes), max);
          expect(Buffer.concat(emitted.map(({ body }) => body))).toEqual(bytes);
        },
      ),
    );
  });

  it('makes the same entries of 1-byte, 7-byte, 64 KiB and random reads', () => {
    fc.assert(
      fc.property(
        output,
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 30 }),
        (bytes, sizes, max) => {
          const whole = entriesOf(assemble([bytes], max));
          for (const cuts of [[1], [7], [65_536], sizes]) {
            expect(entriesOf(assemble(cut(bytes, cuts), max))).toEqual(whole);
          }
        },
      ),
    );
  });

  it('counts entries, and ends one only at a newline, the limit or the end', () => {
    fc.assert(
      fc.property(output, fc.integer({ min: 1, max: 30 }), (bytes, max) => {
        const emitted = assemble(cut(bytes, [11]), max);
        for (const { body, entries } of emitted) expect(countEntries(body)).toBe(entries);
        const all = entriesOf(emitted);
        for (const [index, entry] of all.entries()) {
          expect(entry.length).toBeLessThanOrEqual(max);
          const isLast = index === all.length - 1;
          if (!entry.endsWith('\n') && !isLast) expect(entry.length).toBe(max);
        }
      }),
    );
  });

  it.each([
    ['one below the limit', 9, ['x'.repeat(9) + '\n']],
    ['at the limit', 10, ['x'.repeat(10), '\n']],
    ['one above the limit', 11, ['x'.repeat(10), 'x\n']],
    ['twice the limit', 20, ['x'.repeat(10), 'x'.repeat(10), '\n']],
  ])('cuts a line whose text is %s exactly', (_, length, entries) => {
    expect(entriesOf(assemble([Buffer.from(`${'x'.repeat(length)}\n`)], 10))).toEqual(entries);
  });

  it('hands on all complete lines of a read in one call', () => {
    const emitted = assemble([Buffer.from('a\nb\nc')], 100);
    expect(emitted.map(({ entries }) => entries)).toEqual([2, 1]);
  });

  it('holds an unfinished line back until it is flushed', () => {
    const emitted: string[] = [];
    const assembler = new LineAssembler(100, (parts) =>
      emitted.push(Buffer.concat(parts).toString()),
    );
    assembler.push(Buffer.from('name? '));
    expect(emitted).toEqual([]);
    expect(assembler.heldBytes).toBe(6);
    assembler.flush();
    assembler.push(Buffer.from('joe\n'));
    expect(emitted).toEqual(['name? ', 'joe\n']);
    expect(assembler.heldBytes).toBe(0);
  });

  it('flushes nothing when nothing is held', () => {
    const assembler = new LineAssembler(100, () => {
      throw new Error('emitted an empty entry');
    });
    assembler.flush();
    expect(assembler.heldBytes).toBe(0);
  });

  it('holds no more than one entry of a line without end', () => {
    const assembler = new LineAssembler(1000, () => undefined);
    for (let read = 0; read < 100; read += 1) {
      assembler.push(Buffer.alloc(999, 0x61));
      expect(assembler.heldBytes).toBeLessThan(1000);
    }
  });
});
