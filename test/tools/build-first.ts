import { readyToRun } from './ready.js';

/** End-to-end tests run the built command, so it has to be that of the sources beside it. */
export function setup(): void {
  readyToRun();
}
