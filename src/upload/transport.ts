import type { Answer, ExchangeRequest } from '../core/exchange.js';

/**
 * Carries requests to one destination and reports what came back, as a value: no answer is an
 * answer too. It never retries: only the engine knows identities.
 */
export interface Transport {
  /**
   * Never rejects. The request's body must not be changed before this resolves; after a failure it
   * may still be read for a moment.
   */
  send(request: ExchangeRequest): Promise<Answer>;
  /**
   * Reads the credentials again, as after they were refused. Returns whether they are others now.
   *
   * @throws ShipperError `config` when they cannot be read
   */
  renew(): Promise<boolean>;
  /** Ends what is under way, with failures. What is sent afterwards fails, too. */
  close(): Promise<void>;
}
