import type { IncomingMessage } from 'node:http';

/** How the reading of a body has ended. */
export type BodyReading =
  | { readonly kind: 'whole' }
  /** The client went away, or sent something else than it had announced. */
  | { readonly kind: 'broken' }
  /** Nothing came for too long. */
  | { readonly kind: 'stalled' };

/**
 * Gathers a body into one buffer: no chunk list, no copy at the end. Whatever comes out, nothing is
 * written to the buffer afterwards.
 *
 * @param body of exactly the announced length
 * @param idleLimitMs longest pause between two parts: a slow client is served, a silent one is not
 */
export function readBody(
  message: IncomingMessage,
  body: Buffer,
  idleLimitMs: number,
): Promise<BodyReading> {
  // It has gone away while it waited, and will say nothing any more.
  if (message.destroyed) return Promise.resolve({ kind: 'broken' });
  let filled = 0;
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      end({ kind: 'stalled' });
    }, idleLimitMs);
    const end = (reading: BodyReading): void => {
      clearTimeout(timer);
      message.off('data', take);
      resolve(reading);
    };
    const take = (chunk: Buffer): void => {
      if (filled + chunk.length > body.length) {
        end({ kind: 'broken' });
        return;
      }
      chunk.copy(body, filled);
      filled += chunk.length;
      timer.refresh();
    };
    message.on('data', take);
    message.on('end', () => {
      end({ kind: filled === body.length ? 'whole' : 'broken' });
    });
    message.on('error', () => {
      end({ kind: 'broken' });
    });
    message.on('close', () => {
      end({ kind: 'broken' });
    });
  });
}

/** Reads what is left of a body and drops it. Resolves at its end, or after `limitMs`. */
export function discardRest(message: IncomingMessage, limitMs: number): Promise<void> {
  if (message.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, limitMs);
    message.on('end', end).on('close', end);
    message.resume();
  });
}
