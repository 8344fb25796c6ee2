/** The streams of a run. `merged` is one pipe that serves both. */
export const STREAMS = ['stdout', 'stderr', 'merged'] as const;

export type StreamName = (typeof STREAMS)[number];

export function isStreamName(text: string): text is StreamName {
  return (STREAMS as readonly string[]).includes(text);
}
