/** Runs a script and ends the process: with code 0, or with the message of its error and code 1. */
export function runScript(script: Promise<void>): void {
  script.then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
}
