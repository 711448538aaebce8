#!/usr/bin/env node
import { createProgram } from './program.js';
import { runProgram } from './run.js';

void runProgram(createProgram(process), process).then((code) => {
  process.exitCode = code;
});
