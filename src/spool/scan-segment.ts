import type { FileSystem } from '../disk/file-system.js';
import { lastSeqOf, MAX_BODY_BYTES, MAX_HEADER_BYTES } from '../frames/frame.js';
import { scanFrames, type ScanEnd } from '../frames/scan.js';

/** Holds at least one whole frame, however long, and several of the usual ones. */
const WINDOW_BYTES = 2 * (MAX_BODY_BYTES + MAX_HEADER_BYTES);

/** What a segment file really holds, whatever its name says. */
export interface SegmentContent {
  /** The highest sequence of the intact frames; the expected first minus one when there is none. */
  readonly last: number;
  /** Bytes of the intact, contiguous frames at the beginning of the file. */
  readonly intactBytes: number;
  /** Gap entries among them. */
  readonly gaps: number;
  /** Why the scan ended there. `at` is the offset in the file. */
  readonly end: SegmentEnd;
}

/** `misplaced`: an intact frame, whose sequence is not the one that is due in this file. */
export type SegmentEnd =
  ScanEnd | { readonly kind: 'misplaced'; readonly at: number; readonly reason: string };

/**
 * Reads a segment once, in bounded memory, up to the first frame that is not intact or does not
 * continue the sequence.
 *
 * @param first the sequence that the file must begin with
 */
export async function scanSegment(
  fs: FileSystem,
  path: string,
  first: number,
): Promise<SegmentContent> {
  const file = await fs.openRead(path);
  try {
    const window = Buffer.allocUnsafe(Math.min(WINDOW_BYTES, file.size));
    let content: SegmentContent = {
      last: first - 1,
      intactBytes: 0,
      gaps: 0,
      end: { kind: 'complete', at: 0 },
    };
    while (content.intactBytes < file.size) {
      const filled = await file.read(window, content.intactBytes);
      const next = extend(content, window.subarray(0, filled));
      const isLastWindow = content.intactBytes + filled >= file.size;
      const isStuck = next.intactBytes === content.intactBytes;
      content = next;
      const canGoOn = next.end.kind === 'complete' || next.end.kind === 'torn';
      if (isStuck || isLastWindow || !canGoOn) break;
    }
    return content;
  } finally {
    await file.close();
  }
}

/** The content known so far plus the intact frames of the next window. */
function extend(content: SegmentContent, window: Buffer): SegmentContent {
  const { frames, end } = scanFrames(window);
  const base = content.intactBytes;
  let { last, intactBytes, gaps } = content;
  for (const frame of frames) {
    if (frame.seq !== last + 1) {
      const at = base + frame.start;
      const reason = `sequence ${String(frame.seq)} where ${String(last + 1)} is due`;
      return { last, intactBytes, gaps, end: { kind: 'misplaced', at, reason } };
    }
    last = lastSeqOf(frame);
    intactBytes = base + frame.end;
    if (frame.gap !== undefined) gaps += 1;
  }
  return { last, intactBytes, gaps, end: { ...end, at: base + end.at } };
}
