import { DTMF_PATTERN, dtmfTones } from '../audio/dtmf.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import { rateOf } from '../../kernel/money.js';
import { isTransferAffordable, type RateDeck } from '../../kernel/rate-deck.js';
import type { EgressClient } from '../../platform/egress/client.js';
import type { Accounts } from '../../identity/accounts/accounts.js';
import type { StreamedCall } from '../call-reader.js';
import type { SecretBox } from '../../platform/secrets/secret-box.js';
import { openToolHeaders } from '../../agents/tool-headers.js';
import type { WebhookSecrets } from '../../webhooks/secrets.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ToolAnswer, ToolCall, ToolDefinition } from '../engines/port.js';
import { settledWithin } from '../session/within.js';
import { argumentFault } from './arguments.js';
import { createAnswerRoom } from './answer-room.js';
import { askServer } from './http-tool.js';

/** The port's promise to engines. */
const ANSWER_WITHIN_MS = 15_000;
/** A model that asks in circles is stopped: more requests than this no conversation needs. */
const MAX_REQUESTS = 100;
/** The server was asked all the same, and may have done what it was asked for. */
const LEFT_OUT: ToolAnswer = {
  ok: true,
  result: 'done; the answer is left out, since tools answered too much. Go on without it, or ask again in a minute.',
};

/** What tools may do to the line. */
export interface ToolLine {
  /** Ends the call once what is queued was heard. */
  end(): void;
  /** Puts the far end through once what is queued was heard; false when the call is ending already. */
  transfer(to: string): boolean;
  /** Plays key tones behind what is queued; false when they were cut off. */
  playTones(mulaw: Uint8Array): Promise<boolean>;
}

export interface ToolHostDeps {
  accounts: Accounts;
  dialGate: DialGate;
  rates: RateDeck;
  /** Whether live calls may be transferred. */
  liveTransfers: boolean;
  webhookSecrets: Pick<WebhookSecrets, 'keys'>;
  secretBox: SecretBox;
  egress: EgressClient;
  logger: Logger;
}

export interface ToolHost {
  /** Does what a tool stands for. Never rejects; takes at most 15 s. */
  run(call: ToolCall): Promise<ToolAnswer>;
}

/**
 * The tools of one call. The agent's own settings say where it may transfer to and whom it may ask; what the model or the
 * far end wants beyond that is refused.
 * @param offered what the engine was told of: no other tool is run
 */
export function createToolHost(
  deps: ToolHostDeps,
  request: StreamedCall,
  offered: readonly ToolDefinition[],
  line: ToolLine,
): ToolHost {
  const { logger } = deps;
  const { _id: callId, agent } = request;
  const definitions = new Map(offered.map((definition) => [definition.name, definition]));
  const room = createAnswerRoom(() => performance.now());
  let requests = 0;
  let transferring = false;

  async function perform(definition: ToolDefinition, given: Record<string, unknown>): Promise<ToolAnswer> {
    const fault = argumentFault(definition, given);
    if (fault !== undefined) return { ok: false, error: fault };
    switch (definition.name) {
      case 'end_call':
        line.end();
        return { ok: true, result: 'The call ends now. Say nothing more.' };
      case 'send_dtmf':
        return press(String(given['digits']));
      case 'transfer_call':
        return transfer(String(given['number']));
      default:
        return ask(definition.name, given);
    }
  }

  async function press(digits: string): Promise<ToolAnswer> {
    if (!DTMF_PATTERN.test(digits)) return { ok: false, error: 'these are not keys of a telephone' };
    const wasHeard = await line.playTones(dtmfTones(digits));
    return wasHeard ? { ok: true, result: 'pressed' } : { ok: false, error: 'the keys were cut off' };
  }

  async function transfer(number: string): Promise<ToolAnswer> {
    // The schema offers no other number; a check that decides over a call stands here all the same.
    if (agent.transferNumbers?.includes(number) !== true) return { ok: false, error: 'this number is not allowed' };
    // One at a time: a call counts as one transfer at most.
    if (transferring) return { ok: false, error: 'the call is being transferred already' };
    transferring = true;
    let isUnderWay = false;
    try {
      const answer = await transferCounted(number);
      isUnderWay = answer.ok;
      return answer;
    } finally {
      transferring = isUnderWay;
    }
  }

  /** Checks and counts a transfer as a call of its own, before anything is dialed. */
  async function transferCounted(number: string): Promise<ToolAnswer> {
    const { dialGate } = deps;
    const account = await deps.accounts.find(request.accountId);
    if (account === null || (await dialGate.fault(number, account, request.mode)) !== undefined) {
      return { ok: false, error: 'this number may not be called' };
    }
    if (!isTransferAffordable(deps.rates, number, rateOf(request))) {
      logger.warn({ callId }, 'transfer refused: the number costs more than the call');
      return { ok: false, error: 'this number cannot be called' };
    }
    const dial = { account, mode: request.mode, callId, leg: 'transfer' as const, to: number };
    if (await dialGate.count(dial)) return { ok: false, error: 'this number was called too often; not now' };
    if (line.transfer(number)) return { ok: true, result: 'The far end is put through now. Say nothing more.' };
    await dialGate.release(dial);
    return { ok: false, error: 'the call is ending' };
  }

  async function ask(name: string, given: Record<string, unknown>): Promise<ToolAnswer> {
    const tool = agent.tools?.find((each) => each.name === name);
    if (tool === undefined) return unknown(name);
    requests += 1;
    if (requests > MAX_REQUESTS) return { ok: false, error: 'no more requests can be made in this call' };
    const { accountId } = request;
    // Read each time: a secret may be replaced during a call.
    const keys = await deps.webhookSecrets.keys(accountId);
    const headers = openToolHeaders(tool, accountId, deps.secretBox);
    const answer = await askServer(deps.egress, tool, given, { callId, accountId, keys, headers });
    if (!answer.ok || room.takes(answer.result)) return answer;
    logger.warn({ callId, tool: name }, 'an answer of a tool was left out: they are too long together');
    return LEFT_OUT;
  }

  return {
    async run({ name, arguments: given }) {
      const startedAt = performance.now();
      const definition = definitions.get(name);
      let answer: ToolAnswer | undefined;
      try {
        answer =
          definition === undefined ? unknown(name) : await settledWithin(ANSWER_WITHIN_MS, perform(definition, given));
      } catch (error) {
        logger.warn({ callId, tool: definition?.name, err: error }, 'a tool failed');
        answer = { ok: false, error: 'the tool does not work now' };
      }
      answer ??= { ok: false, error: 'the tool took too long' };
      const ms = Math.round(performance.now() - startedAt);
      logger.info({ callId, tool: definition?.name, ok: answer.ok, ms }, 'tool used');
      return answer;
    },
  };
}

function unknown(name: string): ToolAnswer {
  return { ok: false, error: `there is no tool ${name.slice(0, 64)}` };
}
