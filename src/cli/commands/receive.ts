import { resolve } from 'node:path';
import { Archive } from '../../archive/archive.js';
import { NativeProtocol, type ProtocolStats } from '../../archive/protocol.js';
import { humanBytes } from '../../core/units.js';
import { nodeFileSystem } from '../../disk/node-file-system.js';
import { refuseOpenAccess } from '../../receive/open-access.js';
import { startReceiver, type Receiver } from '../../receive/receiver.js';
import { TokenSource } from '../../upload/token.js';
import { createDiagnostics } from '../diagnostics.js';
import type { Invocation } from '../invocation.js';
import { parseListenAddress } from '../listen-address.js';
import { printNotice, printOut } from '../output.js';
import { counted } from '../render/figures.js';
import { listenForTermination } from '../termination.js';

/**
 * Receives runs until TERM or INT, then finishes the requests that are under way.
 *
 * @throws ShipperError `usage`, `config`, `listen-failed`, `archive-unusable`: nothing listens
 */
export async function receiveCommand({ options, environment }: Invocation): Promise<void> {
  const address = parseListenAddress(options.listen);
  const token = new TokenSource(nodeFileSystem, options.tokenFile, environment['SHIPPER_TOKEN']);
  await token.read();
  refuseOpenAccess(address.host, token.token);
  const dir = resolve(options.dir);
  const termination = listenForTermination();
  const log = await createDiagnostics(options);
  const archive = await Archive.open(dir, { fs: nodeFileSystem, log });
  try {
    const protocol = new NativeProtocol(archive);
    const receiver = await startReceiver({ ...address, token: () => token.token, protocol, log });
    const announce = options.json ? new JsonAnnouncer() : new TextAnnouncer();
    announce.listening(receiver, dir);
    await aborted(termination.signal);
    await receiver.close();
    announce.stopped(protocol.stats);
  } finally {
    termination.dispose();
    await archive.close();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    signal.addEventListener('abort', () => {
      done();
    });
  });
}

interface Announcer {
  listening(receiver: Receiver, dir: string): void;
  stopped(stats: ProtocolStats): void;
}

/** For people, on stderr. */
class TextAnnouncer implements Announcer {
  listening({ url }: Receiver, dir: string): void {
    printNotice(`shipper: receiving on ${url}, archive in ${dir}`);
  }

  stopped({ requests, entries, bytes }: ProtocolStats): void {
    const taken = `${counted(entries, 'entry', 'entries')}, ${humanBytes(bytes)}`;
    printNotice(`shipper: stopped after ${counted(requests, 'request')}, ${taken}`);
  }
}

/** For programs, one line an event on stdout: a contract. */
class JsonAnnouncer implements Announcer {
  listening({ url, port }: Receiver, dir: string): void {
    printOut(`${JSON.stringify({ event: 'listening', url, port, dir })}\n`);
  }

  stopped({ requests, entries, bytes }: ProtocolStats): void {
    printOut(`${JSON.stringify({ event: 'stopped', requests, entries, bytes })}\n`);
  }
}
