import { offeredToolSchema, toolSchemaFault } from '../../src/agents/tool-schema.js';
import { decideOutcome, decideOutcomeWithoutCarrier } from '../../src/calls/call-outcome.js';
import { createCallGate } from '../../src/calls/wiring.js';
import { newCall, type CallState } from '../../src/kernel/call-state.js';
import { expectError } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { startTelephoneStack, type TelephoneStack } from './support/telephone-stack';

const ANSWERED_AT = 1_700_000_000_000;
/** A callee of the simulated carrier that answers and stays silent. */
const SILENT = '+12025550107';

/** A call whose agent never became audible to the caller. */
function failedAfter(seconds: number): { state: CallState; at: number } {
  const at = ANSWERED_AT + seconds * 1_000;
  const mediaEnd = { reason: 'media_failed' as const, at, agentAudioPlayed: false };
  return { state: { ...newCall('outbound'), answeredAt: ANSWERED_AT, mediaEnd }, at };
}

describe('a call without agent audio', () => {
  it('is billed when it fails more than 30 s after the answer', () => {
    const { state, at } = failedAfter(31);
    const billed = { status: 'COMPLETED', endReason: 'media_failed', billableSeconds: 31 };
    expect(decideOutcome(state, { status: 'completed', at, durationSeconds: 31 })).toMatchObject(billed);
    expect(decideOutcomeWithoutCarrier(state, at)).toMatchObject({ ...billed, estimated: true });
  });

  it('is billed whichever is reported first, the answer or the end', () => {
    const { answeredAt: _, ...state } = failedAfter(31).state;
    const end = { status: 'completed', at: failedAfter(31).at, durationSeconds: 31 } as const;
    expect(decideOutcome(state, end)).toMatchObject({ status: 'COMPLETED', billableSeconds: 31 });
  });

  it('is free when it fails within 30 s', () => {
    const { state, at } = failedAfter(30);
    const free = { status: 'FAILED', endReason: 'media_failed', billableSeconds: 0 };
    expect(decideOutcome(state, { status: 'completed', at, durationSeconds: 30 })).toMatchObject(free);
    expect(decideOutcomeWithoutCarrier(state, at)).toMatchObject(free);
  });
});

describe('a tool schema that providers reject', () => {
  const inProperty = (schema: object) => ({ type: 'object', properties: { a: schema } });

  const atTheTop = ['anyOf', 'oneOf', 'allOf', 'enum', 'not'].map((keyword): [string, object, RegExp] => [
    `${keyword} at the top`,
    { type: 'object', [keyword]: [] },
    new RegExp(`not contain ${keyword} at the`),
  ]);

  it.each<[string, object, RegExp]>([
    ['an array without items', inProperty({ type: 'array' }), /array without items; add items/],
    ['a nullable array without items', inProperty({ type: ['array', 'null'] }), /array without items; add items/],
    [
      'an array without items in an alternative',
      inProperty({ anyOf: [{ type: 'array' }] }),
      /array without items; add items/,
    ],
    [
      'a description that is not a string',
      inProperty({ type: 'string', description: 5 }),
      /description must be a string/,
    ],
    ['a limit that is not a number', inProperty({ type: 'string', maxLength: '5' }), /maxLength must be a number/],
    ['examples that are not a list', inProperty({ type: 'string', examples: 'x' }), /examples must be a list/],
    ['an empty enum', inProperty({ enum: [] }), /enum must not be empty/],
    ['no alternative', inProperty({ anyOf: [] }), /anyOf must not be empty/],
    ['no type', inProperty({ type: [] }), /type must not be an empty list/],
    ['a negative length', inProperty({ type: 'string', minLength: -1 }), /minLength must be a whole number/],
    ['half an item', inProperty({ type: 'array', items: {}, maxItems: 0.5 }), /maxItems must be a whole number/],
    ['multiples of zero', inProperty({ type: 'number', multipleOf: 0 }), /multipleOf must be above 0/],
    ['a name that is required twice', { ...inProperty({}), required: ['a', 'a'] }, /required must not name/],
    ['a type that is listed twice', inProperty({ type: ['null', 'null'] }), /type must not name/],
    ...atTheTop,
  ])('is rejected when the agent is created: %s', (_name, schema, fault) => {
    expect(toolSchemaFault(JSON.stringify(schema))).toMatch(fault);
  });

  it('is never offered without properties: an object gets empty ones', () => {
    const bare = { type: 'object' };
    expect(offeredToolSchema(bare)).toEqual({ type: 'object', properties: {} });
    expect(
      offeredToolSchema({
        type: 'object',
        properties: { a: bare, b: { type: 'array', items: bare }, c: { anyOf: [bare] } },
      }),
    ).toEqual({
      type: 'object',
      properties: {
        a: { type: 'object', properties: {} },
        b: { type: 'array', items: { type: 'object', properties: {} } },
        c: { anyOf: [{ type: 'object', properties: {} }] },
      },
    });
  });

  it('may have the same keywords in properties', () => {
    for (const schema of [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { enum: ['a'] }]) {
      expect(toolSchemaFault(JSON.stringify(inProperty(schema)))).toBeUndefined();
    }
  });
});

describe('unbilled calls on a real carrier', () => {
  let stack: TelephoneStack;
  beforeAll(async () => {
    stack = await startTelephoneStack({ carrier: 'twilio' });
  }, 120_000);
  afterAll(() => stack.close());

  it('stop the live calls of an account after 20 in an hour', async () => {
    const { service } = stack;
    const { config, database } = service;
    const customer = await service.customer();
    const accountId = customer.account._id;
    const { callId, scripted } = await stack.placeCall(customer, SILENT);
    scripted.sink.fail(new Error('the provider refuses'));
    expect(await stack.waitForEnd(callId)).toMatchObject({ endReason: 'media_failed', costMicros: 0 });
    const gate = createCallGate({ config, database });
    const count = (id: string) => gate.countWaived({ accountId, mode: 'live', callId: id });
    // The settlement has already counted the first call. Counting the call again does not change the count.
    await count(callId);
    for (let n = 0; n < 18; n++) await count(newCallId());
    const dial = { account: customer.account, mode: 'live', callId: newCallId(), leg: 'call', to: SILENT } as const;
    expect(await gate.admit(dial)).toBeUndefined();
    await count(newCallId());
    const order = { to_phone_number: SILENT, instruction: 'Hello.' };
    const rejection = await service.place(customer.liveKey, order);
    expectError(rejection, 403, 'SPEND_LIMIT_EXCEEDED', /20 unbilled live calls .* next hour/);
    expect((await service.place(customer.testKey, order)).status).toBe(200);
    expect((await service.place((await service.customer()).liveKey, order)).status).toBe(200);
  }, 120_000);

  it('are counted at their settlement', async () => {
    const { database, ...service } = stack.service;
    const customer = await service.customer();
    const { callId, scripted } = await stack.placeCall(customer, SILENT);
    scripted.sink.fail(new Error('the provider refuses'));
    await stack.waitForEnd(callId);
    const _id = `${customer.account._id}~live~waived~hour`;
    for (let look = 0; look < 100; look++) {
      if ((await database.destinationCounts.exists({ _id })) !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await database.destinationCounts.findById(_id).lean()).toMatchObject({ count: 1 });
  }, 60_000);
});
