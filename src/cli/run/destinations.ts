import { errorLine } from '../../core/errors.js';

/**
 * The destinations that can be used, as URLs without credentials. One that cannot be is said, and
 * left out: a broken delivery never keeps the command from running.
 */
export async function usableDestinations(
  urls: readonly string[],
  notify: (line: string) => void,
): Promise<string[]> {
  if (urls.length === 0) return [];
  const { parseSink } = await import('../../sinks/registry.js');
  const usable: string[] = [];
  for (const url of urls) {
    try {
      usable.push(parseSink(url).id);
    } catch (error) {
      notify(`${errorLine(error)}; nothing goes there, the output stays in the spool`);
    }
  }
  return usable;
}
