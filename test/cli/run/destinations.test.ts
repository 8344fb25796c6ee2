import { describe, expect, it } from 'vitest';
import { usableDestinations } from '../../../src/cli/run/destinations.js';

describe('usableDestinations', () => {
  it('keeps those that can be used and says in one line each why the others cannot', async () => {
    const lines: string[] = [];
    const urls = ['dir:/archive', 'gopher://host', 'shipper+http://127.0.0.1:1'];
    const usable = await usableDestinations(urls, (line) => lines.push(line));
    expect(usable).toEqual(['dir:/archive', 'shipper+http://127.0.0.1:1']);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^shipper: .*gopher.*unknown.*stays in the spool$/);
  });

  it('has nothing to say when there are none', async () => {
    const lines: string[] = [];
    expect(await usableDestinations([], (line) => lines.push(line))).toEqual([]);
    expect(lines).toEqual([]);
  });
});
