import { createRequestParameters } from '../../src/voice/models/request-parameters.js';

const TEN_MINUTES_MS = 600_000;

/** A server whose responses depend on the fields, and the fields that it was sent. */
function startServer(rejects: (effort: unknown) => boolean) {
  const efforts: unknown[] = [];
  const server = { rejects };
  return {
    server,
    efforts,
    post: async (fields: Readonly<Record<string, unknown>>) => {
      const effort = fields['reasoning_effort'];
      efforts.push(effort);
      const isRejected = server.rejects(effort);
      const body = { error: { message: 'Unsupported value: reasoning_effort' } };
      return isRejected ? Response.json(body, { status: 400 }) : Response.json({});
    },
  };
}

function setUp(rejects: (effort: unknown) => boolean) {
  let time = 0;
  const parameters = createRequestParameters({ model: 'gpt-6-luna', reasoningEffort: 'low' }, 100, () => time);
  return { ...startServer(rejects), parameters, wait: (ms: number) => void (time += ms) };
}

describe('a reasoning effort that the server rejected once', () => {
  it('is sent again after ten minutes, so that one odd response does not change all later calls', async () => {
    const { server, efforts, post, parameters, wait } = setUp((effort) => effort === 'low');
    await parameters.send(post);
    server.rejects = () => false;
    wait(TEN_MINUTES_MS - 1);
    await parameters.send(post);
    wait(1);
    await parameters.send(post);
    await parameters.send(post);
    expect(efforts).toEqual(['low', 'none', 'none', 'low', 'low']);
  });

  it('is sent again by one request only if the server still rejects it', async () => {
    const { efforts, post, parameters, wait } = setUp((effort) => effort === 'low');
    await parameters.send(post);
    wait(TEN_MINUTES_MS);
    const replies = await Promise.all([1, 2, 3].map(() => parameters.send(post)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    await parameters.send(post);
    expect(efforts).toEqual(['low', 'none', 'low', 'none', 'none', 'none', 'none']);
  });
});
