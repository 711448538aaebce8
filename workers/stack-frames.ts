import { setFlagsFromString } from 'node:v8';

/**
 * Limits the stack traces of workflow code, and of threads that start later; the main thread keeps its own. The SDK takes a stack trace for each
 * promise that workflow code makes, maps its frames to the source and keeps it until the promise is settled (`promiseHooks` in
 * `lib/workflow/vm-shared.js` of @temporalio/worker 1.24.0). Its own hook is the first two frames.
 * Call this before the first worker is created, because each context takes the limit when it is made.
 */
export function limitWorkflowStacks(frames: number): void {
  setFlagsFromString(`--stack-trace-limit=${frames}`);
}
