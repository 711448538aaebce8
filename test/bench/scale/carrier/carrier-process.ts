import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createReports, type StubCall } from './reports.js';
import {
  REPORT_EVERY_MS,
  stubSettings,
  type Course,
  type SentCallback,
  type StubMessage,
  type StubOrder,
} from './protocol.js';

/** Longer than a stage, so that no connection is closed just when a request is sent on it. */
const KEEP_ALIVE_MS = 3_600_000;
/** A call is accepted before it is dialed, which takes longer when many are. */
const DIALED_WITHIN_MS = 60_000;
const CALLS_PATH = /^\/2010-04-01\/Accounts\/AC[0-9a-f]{32}\/Calls(?:\/(CA[0-9a-f]{32}))?\.json$/;
const CALL_OF_CALLBACK = /\/carrier\/calls\/(call_[0-9A-Z]{26})\/status/;

/**
 * The least carrier that a call without audio needs: it accepts dials, reports answers and ends by signed status callbacks,
 * and signals the start and end of the audio, as the media server does. It also receives the webhooks.
 */
async function main(): Promise<void> {
  const settings = stubSettings();
  const connection = await Connection.connect({ address: settings.temporalAddress });
  const reports = createReports({ ...settings, client: new Client({ connection }) });
  const calls = new Map<string, StubCall>();
  const callIds = new Map<string, string>();
  const over = new Set<string>();
  let course: Course = {};

  function accept(form: URLSearchParams): StubCall {
    const statusUrl = form.get('StatusCallback') ?? '';
    const [, callId = ''] = CALL_OF_CALLBACK.exec(statusUrl) ?? [];
    const call: StubCall = { callId, carrierSid: `CA${randomUUID().replaceAll('-', '')}`, statusUrl };
    calls.set(callId, call);
    callIds.set(call.carrierSid, callId);
    const { answerMs, talkMs } = course;
    if (answerMs !== undefined) void conduct(call, answerMs, talkMs).catch(fail);
    return call;
  }

  async function conduct(call: StubCall, answerMs: number, talkMs: number | undefined): Promise<void> {
    await sleep(answerMs);
    await reports.answer(call);
    if (talkMs === undefined) return;
    await sleep(talkMs);
    // The service may have hung up meanwhile.
    if (call.endSentAt === undefined) await end(call);
  }

  async function end(call: StubCall): Promise<SentCallback> {
    callIds.delete(call.carrierSid);
    return reports.end(call);
  }

  /** Responds to Twilio's REST interface: create, fetch, and update, which ends the call. */
  async function serveRest(request: IncomingMessage, response: ServerResponse, carrierSid: string | undefined) {
    const form = new URLSearchParams(await text(request));
    await sleep(course.requestMs ?? 0);
    const call = carrierSid === undefined ? accept(form) : calls.get(callIds.get(carrierSid) ?? '');
    const sid = carrierSid ?? call?.carrierSid;
    const body = { sid, account_sid: settings.carrierAccountId, status: statusOf(call), direction: 'outbound-api' };
    response.writeHead(carrierSid === undefined ? 201 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
    const isHangUp = carrierSid !== undefined && form.get('Status') === 'completed';
    if (isHangUp && call !== undefined) await end(call);
  }

  async function receiveWebhook(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { call_id: callId } = JSON.parse(await text(request)) as { call_id: string };
    const { endSentAt, seconds } = calls.get(callId) ?? {};
    calls.delete(callId);
    over.add(callId);
    const afterEndMs = endSentAt === undefined ? undefined : Date.now() - endSentAt;
    send({
      webhookOf: callId,
      ...(afterEndMs !== undefined && { afterEndMs }),
      ...(seconds !== undefined && { seconds }),
    });
    await sleep(course.requestMs ?? 0);
    response.writeHead(204).end();
  }

  async function obey(order: StubOrder): Promise<SentCallback[]> {
    if (order.act === 'follow') course = order.course;
    const sent: SentCallback[] = [];
    if (order.act === 'follow') return sent;
    for (const callId of order.callIds) {
      const call = await dialed(callId);
      if (order.act === 'expect') continue;
      const next = sleep(REPORT_EVERY_MS);
      sent.push(await (order.act === 'answer' ? reports.answer(call) : end(call)));
      await next;
    }
    return sent;
  }

  async function dialed(callId: string): Promise<StubCall> {
    const giveUpAt = Date.now() + DIALED_WITHIN_MS;
    for (;;) {
      const call = calls.get(callId);
      if (call !== undefined) return call;
      if (over.has(callId)) throw new Error(`${callId} is over: its webhook has arrived`);
      if (Date.now() > giveUpAt) throw new Error(`${callId} was not dialed`);
      await sleep(20);
    }
  }

  const server = createServer((request, response) => {
    const found = CALLS_PATH.exec(request.url ?? '');
    const served = found === null ? receiveWebhook(request, response) : serveRest(request, response, found[1]);
    served.catch(fail);
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  process.on('message', (order: StubOrder) => {
    const { id } = order;
    obey(order).then(
      (sent) => send({ id, sent }),
      (error: unknown) => send({ id, error: String(error) }),
    );
  });
  process.once('SIGTERM', () => process.exit());
  process.once('disconnect', () => process.exit());
  server.listen(settings.port, '127.0.0.1', () => process.send?.('ready'));
}

function statusOf(call: StubCall | undefined): string {
  if (call === undefined || call.endSentAt !== undefined) return 'completed';
  return call.answeredAt === undefined ? 'ringing' : 'in-progress';
}

function send(message: StubMessage): void {
  process.send?.(message);
}

function fail(error: unknown): void {
  send({ failed: String(error) });
}

void main();
