#!/usr/bin/env node
import { createProgram } from './program.js';
import { runProgram } from './run.js';

// Whoever reads our output may have read enough, like `head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

void runProgram(createProgram(process), process).then((code) => {
  // A command that stays up may have set a code of its own.
  if (code !== 0) process.exitCode = code;
});
