/**
 * Node warns of leaked listeners, unhandled closes and deprecated calls, and goes on. In a test
 * such a warning is a defect: thrown from here, it fails the run and names the file.
 */
process.on('warning', (warning) => {
  throw warning;
});
