import { setTimeout as wait } from 'node:timers/promises';
import type { CarrierAccount } from '../../../platform/config/config.js';
import { listCarrierCalls } from './call-list.js';
import { isOver } from '../call-progress.js';
import { toTwilioResource } from '../call-record.js';
import { readCreateRequest, readSource, readTimeLimit } from './create-request.js';
import type { Credentials } from './credentials.js';
import type { Exchange } from '../exchange.js';
import type { Faults } from '../faults.js';
import type { LiveCall } from '../live-call.js';
import { REST_ERRORS, RestError } from './rest-errors.js';

export interface RestRequest {
  method: string;
  /** The URL of the request, whose path and query are unchanged. */
  url: URL;
  authorization: string | undefined;
  body: string;
}

/** `drop`: close the connection without a response. */
export type RestResponse = { status: number; body: string } | 'drop';

/** The carrier's REST API for calls: create, fetch, update, list, delete. */
export interface RestApi {
  handle(request: RestRequest): Promise<RestResponse>;
}

const CALLS_PATH = /^\/2010-04-01\/Accounts\/([^/]+)\/Calls(?:\/([^/]+))?\.json$/;

export function createRestApi(deps: {
  accounts: readonly CarrierAccount[];
  credentials: Credentials;
  exchange: Exchange;
  faults: Faults;
  timeScale: number;
}): RestApi {
  const json = (status: number, body: unknown): RestResponse => ({ status, body: JSON.stringify(body) });

  async function create(account: CarrierAccount, form: URLSearchParams): Promise<RestResponse> {
    const { facts, plan } = readCreateRequest(account, form);
    if (isNumberOfOther(account, facts.from)) throw REST_ERRORS.fromNotOurs(facts.from);
    const { scenario, fault } = deps.faults.onCreate(facts.to, form.get('Url') ?? form.get('Twiml') ?? '');
    switch (fault?.fault) {
      case 'error':
        throw REST_ERRORS.internal();
      case 'throttle':
        throw REST_ERRORS.tooManyRequests();
      case 'concurrency':
        throw REST_ERRORS.concurrencyExceeded();
      case 'unverified':
        throw REST_ERRORS.unverifiedTo(facts.to);
      case 'unauthorized':
        throw REST_ERRORS.authenticate();
      case 'hang':
        await wait(fault.seconds * 1_000 * deps.timeScale, undefined, { ref: false });
        break;
      default:
        break;
    }
    const resource = toTwilioResource(deps.exchange.placeOutbound(facts, plan, scenario));
    return fault?.fault === 'dropAnswer' ? 'drop' : json(201, resource);
  }

  /** The carrier knows only the numbers of its accounts' settings, and accepts any other one. */
  function isNumberOfOther(account: CarrierAccount, from: string): boolean {
    const owners = deps.accounts.filter(({ fromNumber }) => fromNumber === from);
    return owners.length > 0 && !owners.includes(account);
  }

  function update(live: LiveCall, form: URLSearchParams): RestResponse {
    const { call } = live;
    const status = form.get('Status');
    const source = readSource(form);
    const timeLimit = readTimeLimit(form);
    if (status !== null && status !== 'completed' && status !== 'canceled') throw REST_ERRORS.invalidStatus();
    if (form.get('Url') && form.get('Twiml')) throw REST_ERRORS.invalidParameter('Twiml');
    if (isOver(call) || (source !== undefined && call.answeredAt === undefined)) throw REST_ERRORS.notInProgress();
    if (timeLimit !== undefined) live.setTimeLimit(timeLimit);
    if (source !== undefined) live.redirect(source);
    // Setting `canceled` has no effect on an answered call.
    if (status === 'completed' || (status === 'canceled' && call.answeredAt === undefined)) live.hangUp();
    return json(200, toTwilioResource(call));
  }

  async function route(request: RestRequest): Promise<RestResponse> {
    const account = deps.credentials.findAccount(request.authorization);
    if (account === undefined) throw REST_ERRORS.authenticate();
    const { pathname, searchParams } = request.url;
    const [, carrierAccountId, sid] = CALLS_PATH.exec(pathname) ?? [];
    if (carrierAccountId !== account.carrierAccountId) throw REST_ERRORS.notFound(pathname);
    if (sid === undefined) {
      if (request.method === 'POST') return create(account, new URLSearchParams(request.body));
      if (request.method !== 'GET') throw REST_ERRORS.methodNotAllowed();
      return json(200, listCarrierCalls(deps.exchange.listOfAccount(account.carrierAccountId), pathname, searchParams));
    }
    const live = deps.exchange.find(sid);
    if (live === undefined || live.call.account.carrierAccountId !== account.carrierAccountId)
      throw REST_ERRORS.notFound(pathname);
    switch (request.method) {
      case 'GET':
        return json(200, toTwilioResource(live.call));
      case 'POST':
        return update(live, new URLSearchParams(request.body));
      case 'DELETE':
        if (!isOver(live.call)) throw REST_ERRORS.notOver();
        deps.exchange.remove(sid);
        return { status: 204, body: '' };
      default:
        throw REST_ERRORS.methodNotAllowed();
    }
  }

  return {
    async handle(request) {
      try {
        return await route(request);
      } catch (error) {
        if (error instanceof RestError) return { status: error.status, body: error.toBody() };
        throw error;
      }
    },
  };
}
