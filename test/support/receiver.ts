import {
  startShipper,
  type Finished,
  type RunningShipper,
  type ShipperSettings,
} from './shipper.js';

/** A receiver of the native protocol, started as the built command on a free loopback port. */
export interface RunningReceiver {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** What senders give as `--to`: `shipper+http://127.0.0.1:PORT`. */
  readonly to: string;
  readonly port: number;
  /** The archive directory. */
  readonly dir: string;
  readonly process: RunningShipper;
  /** TERM by default, which lets it finish requests; SIGKILL for a crash. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

export interface ReceiverSettings extends ShipperSettings {
  /** 0, the default, takes a free one; a restarted receiver takes its old one. */
  readonly port?: number;
  readonly args?: readonly string[];
}

/** Resolves when it listens. It is killed when the test ends before it is stopped. */
export async function startReceiver(
  dir: string,
  settings: ReceiverSettings = {},
): Promise<RunningReceiver> {
  const { port = 0, args = [] } = settings;
  const running = startShipper(
    ['receive', '--listen', `127.0.0.1:${String(port)}`, '--dir', dir, '--json', ...args],
    settings,
  );
  const [line] = await running.untilStdout(/^\{"event":"listening".*\}$/m);
  const { url, port: bound } = JSON.parse(line) as { url: string; port: number };
  return {
    url,
    to: `shipper+${url}`,
    port: bound,
    dir,
    process: running,
    stop: (signal) => running.stop(signal),
  };
}
