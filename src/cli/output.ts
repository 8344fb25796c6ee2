import { reasonOf, systemCode } from '../core/errors.js';
import { EXIT } from '../core/exit-codes.js';

/** Results, on stdout. */
export function printOut(text: string): void {
  print(process.stdout, text);
}

/** One line of ours, on stderr. The newline is added. */
export function printNotice(line: string): void {
  print(process.stderr, `${line}\n`);
}

/**
 * A reader that went away (`shipper status | head -1`) is no error of ours: what it did not want is
 * dropped. Without a listener it would end the process with a stack trace.
 */
function print(stream: NodeJS.WriteStream, text: string): void {
  if (stream.listenerCount('error', ignoreClosedReader) === 0) {
    stream.on('error', ignoreClosedReader);
  }
  stream.write(text);
}

function ignoreClosedReader(error: Error): void {
  if (systemCode(error) === 'EPIPE') return;
  process.exitCode = EXIT.io;
  // Where it was stderr itself that failed, there is nobody to tell.
  process.stderr.write(`shipper: cannot write the output: ${reasonOf(error)}; make room for it\n`);
}
