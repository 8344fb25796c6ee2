import { pino, type Logger as PinoLogger } from 'pino';
import type { Logger } from './log.js';

export interface LoggerSettings {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly format: 'text' | 'json';
  /** Where a line goes; it ends with a newline. */
  readonly write: (line: string) => void;
}

/** Diagnostics by pino, as JSON lines or as the `shipper: …` lines that people read. */
export function createLogger(settings: LoggerSettings): Logger {
  const write = settings.format === 'json' ? settings.write : textWriter(settings.write);
  const logger: PinoLogger = pino(
    { level: settings.level, base: null, formatters: { level: (label) => ({ level: label }) } },
    { write },
  );
  return {
    debug: (fields, message) => {
      logger.debug(fields, message);
    },
    info: (fields, message) => {
      logger.info(fields, message);
    },
    warn: (fields, message) => {
      logger.warn(fields, message);
    },
    error: (fields, message) => {
      logger.error(fields, message);
    },
  };
}

/** `shipper: message (key=value …)`: the form of every other line that shipper prints. */
function textWriter(write: (line: string) => void): (line: string) => void {
  return (line) => {
    const {
      msg,
      level: _level,
      time: _time,
      ...fields
    } = JSON.parse(line) as Record<string, unknown>;
    const details = Object.entries(fields).map(([key, value]) => `${key}=${String(value)}`);
    const suffix = details.length === 0 ? '' : ` (${details.join(' ')})`;
    // A name of a file may hold a newline, and would begin a line of its own.
    write(`shipper: ${String(msg)}${suffix}`.replaceAll(/\s*\n\s*/g, ' ') + '\n');
  };
}
