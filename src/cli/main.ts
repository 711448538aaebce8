#!/usr/bin/env node
import { createProgram } from './program.js';
import { runProgram } from './run.js';

// A program that reads our output, such as `head`, may close the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

void runProgram(createProgram(process), process).then((code) => {
  // A long-running command may have set its own exit code.
  if (code !== 0) process.exitCode = code;
});
