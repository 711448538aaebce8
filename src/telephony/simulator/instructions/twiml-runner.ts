import { setTimeout as wait } from 'node:timers/promises';
import { logCallError, type CallRecord, type DialLog } from '../call-record.js';
import type { CustomerClient } from '../webhook-client.js';
import { fetchInstructions } from './fetch-instructions.js';
import { InstructionError, type TwimlEnd, type TwimlSource } from './source.js';
import type { TwimlElement } from './twiml.js';
import { nextSource, readVerb, type DialVerb, type Instruction, type StreamRequest } from './verbs.js';

export interface TwimlRunner {
  /**
   * Executes the instructions of a source to their end, and follows redirects.
   * @param signal aborts the instructions when the call is over or was redirected; the promise then rejects with its
   * reason
   */
  run(source: TwimlSource, signal: AbortSignal): Promise<TwimlEnd>;
}

type Step = { next: TwimlSource } | { end: TwimlEnd } | undefined;

const MAX_DOCUMENTS = 100;

export function createTwimlRunner(deps: {
  call: CallRecord;
  webhooks: CustomerClient;
  /** Called before the first verb that needs an answered call. */
  answer(): void;
  stream(request: StreamRequest, signal: AbortSignal): Promise<void>;
  dial(request: DialVerb, signal: AbortSignal): Promise<DialLog>;
}): TwimlRunner {
  const { call } = deps;

  async function perform(instruction: Instruction, source: TwimlSource, signal: AbortSignal): Promise<Step> {
    switch (instruction.kind) {
      case 'stream':
        await deps.stream(instruction.request, signal);
        return stepAfter(instruction, source, signal);
      case 'dial': {
        const { sid, status, seconds } = await deps.dial(instruction.request, signal);
        const fields = {
          ...(sid === undefined ? {} : { DialCallSid: sid }),
          DialCallStatus: status,
          DialCallDuration: String(seconds),
          DialBridged: String(status === 'completed'),
        };
        return stepAfter(instruction, source, signal, fields);
      }
      case 'wait':
        await wait(instruction.ms, undefined, { signal });
        return undefined;
      case 'redirect':
        return { next: nextSource(instruction.to, source) };
      case 'hangUp':
        return { end: 'done' };
      case 'reject':
        return { end: call.answeredAt === undefined ? 'rejected' : 'done' };
    }
  }

  /** Executes the verbs of one document until there are none left, or one of them continues with another document. */
  async function runDocument(source: TwimlSource, signal: AbortSignal): Promise<Step> {
    const verbs: TwimlElement[] = await fetchInstructions(deps, source);
    for (const verb of verbs) {
      signal.throwIfAborted();
      // An unknown verb also answers the call.
      if (verb.name !== 'Reject') deps.answer();
      const step = await perform(readVerb(verb, source), source, signal);
      if (step !== undefined) return step;
    }
    return undefined;
  }

  async function runAll(first: TwimlSource, signal: AbortSignal): Promise<TwimlEnd> {
    let source = first;
    for (let documents = 0; documents < MAX_DOCUMENTS; documents++) {
      const step = await runDocument(source, signal);
      if (step === undefined) return 'done';
      if ('end' in step) return step.end;
      source = step.next;
    }
    throw new InstructionError(12100, `The call was redirected more than ${MAX_DOCUMENTS} times.`);
  }

  return {
    async run(source, signal) {
      try {
        return await runAll(source, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof InstructionError)) throw error;
        logCallError(call, error.code, error.message);
        return 'failed';
      }
    },
  };
}

/** Decides what follows a finished verb: the document at the verb's `action` if it has one, otherwise the next verb. */
function stepAfter(
  { action }: Extract<Instruction, { kind: 'stream' | 'dial' }>,
  source: TwimlSource,
  signal: AbortSignal,
  extra?: Record<string, string>,
): Step {
  signal.throwIfAborted();
  return action === undefined ? undefined : { next: nextSource(action, source, extra) };
}
