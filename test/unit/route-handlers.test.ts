import { z } from 'zod';
import { defineRoute } from '../../src/platform/http/contract/route.js';
import type { ApiContext } from '../../src/platform/http/context.js';
import { respond, content, sendResponse } from '../../src/platform/http/routing/response.js';
import type { Handlers } from '../../src/platform/http/routing/handlers.js';

const common = { tag: 'Things', summary: 'A thing', auth: 'key', errors: [] } as const;
const thing = {
  description: 'It.',
  contentType: 'application/json',
  schema: z.object({ count: z.number() }),
  examples: {},
} as const;
const table = {
  readThing: defineRoute({
    ...common,
    method: 'get',
    path: '/things/{thing_id}',
    params: z.object({ thing_id: z.string() }),
    query: z.object({ limit: z.string().transform(Number).optional() }),
    success: thing,
  }),
  changeThing: defineRoute({
    ...common,
    method: 'patch',
    path: '/thing',
    changes: 'mode',
    body: { contentType: 'application/json', schema: z.object({ name: z.string() }), examples: {}, onDemand: true },
    success: thing,
  }),
  sayThing: defineRoute({
    ...common,
    method: 'get',
    path: '/thing.txt',
    success: { ...thing, contentType: 'text/plain', schema: z.string() },
  }),
};
type Things = Handlers<typeof table, { key: { owner: string } }>;

const handlers: Things = {
  readThing: ({ params, query, principal }) => ({
    count: params.thing_id.length + (query.limit ?? 0) + principal.owner.length,
  }),
  changeThing: async ({ readBody }) => respond({ count: (await readBody()).name.length }, { target: 'thing' }),
  sayThing: () => 'thing',
};

const count = <T>(...values: T[]) => values.length;

describe('a route table', () => {
  it('types the input and output of its handlers', async () => {
    const request = { ctx: {} as never, principal: { owner: 'me' } };
    expect(await handlers.readThing({ ...request, params: { thing_id: 'abc' }, query: { limit: 2 } })).toEqual({
      count: 7,
    });
  });

  it('does not compile with a missing or wrong handler', () => {
    const { readThing: _left, ...withoutOne } = handlers;
    // @ts-expect-error a handler is missing
    expect(count<Things>(withoutOne)).toBe(1);
    // @ts-expect-error there is no route of this name
    expect(count<Things>({ ...handlers, eatThing: () => 'thing' })).toBe(1);
    // @ts-expect-error the contract says a number
    expect(count<Things['readThing']>(() => ({ count: '1' }))).toBe(1);
    // @ts-expect-error the contract has no such parameter
    expect(count<Things['readThing']>(({ params }) => ({ count: Number(params.id) }))).toBe(1);
    // @ts-expect-error the body is read on demand
    expect(count<Things['changeThing']>(({ body }) => ({ count: Number(body) }))).toBe(1);
    // @ts-expect-error the contract has no such content type
    expect(count<Things['sayThing']>(() => content('text/html', '<p>thing</p>'))).toBe(1);
  });

  it('declares exactly the parameters of its paths', () => {
    // @ts-expect-error {thing_id} is not declared
    const route = defineRoute({ ...common, method: 'get', path: '/things/{thing_id}', success: thing });
    expect(route.path).toBe('/things/{thing_id}');
  });
});

describe('a response', () => {
  const contextOf = () => ({ set: () => undefined, status: 404, body: undefined }) as unknown as ApiContext;

  it('is checked against the contract if that is requested', () => {
    const ctx = contextOf();
    expect(() => sendResponse(ctx, table.readThing, { count: 'secret' }, true)).toThrow(
      'The response of get /things/{thing_id} does not match its contract: count (invalid_type)',
    );
    expect(sendResponse(ctx, table.readThing, { count: 1 }, true)).toEqual({});
    expect(ctx).toMatchObject({ status: 200, body: { count: 1 } });
  });

  it('with another status is an error object', () => {
    const errorBody = {
      success: false as const,
      message: 'No.',
      error_code: 'CONFLICT' as const,
      doc_url: '',
      request_id: '',
    };
    const ctx = contextOf();
    sendResponse(ctx, table.readThing, respond<never>(errorBody, { status: 409 }), true);
    expect(ctx).toMatchObject({ status: 409, body: errorBody });
    expect(() => sendResponse(ctx, table.readThing, respond({ count: 1 }, { status: 409 }), true)).toThrow(
      'error_code',
    );
  });

  it('carries the target of a change for the audit log', () => {
    const change = { target: 'thing', unchanged: true };
    expect(sendResponse(contextOf(), table.changeThing, respond({ count: 1 }, change), true)).toEqual(change);
  });
});
