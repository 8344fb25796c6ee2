import { ShipperError } from '../core/errors.js';

/** Whether only this machine can reach it. A name other than `localhost` may be anything. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Whoever reaches a receiver may write to its archive, so beyond this machine it needs a token.
 *
 * @throws ShipperError `config`
 */
export function refuseOpenAccess(host: string, token: string | undefined): void {
  if (token !== undefined || isLoopback(host)) return;
  throw new ShipperError('config', `cannot listen on ${host} without a token`, {
    hint: 'name a file that holds one with --token-file, or listen on 127.0.0.1',
  });
}
