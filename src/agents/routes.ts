import { refuseBadWebhookUrl } from '../platform/egress/webhook-url.js';
import type { Config } from '../platform/config/config.js';
import { AgentChangesBody, AgentsQuery, NewAgentBody } from './schemas.js';
import { toStored } from './agent-definition.js';
import { agentView } from './agent-view.js';
import { ServiceError } from '../kernel/errors.js';
import type { AgentChanges } from './agent-fields.js';
import type { Agents, NewAgent } from './agents.js';
import { modeOfAgent } from './agent-mode.js';
import type { AgentDocument } from './model.js';
import type { ApiContext } from '../platform/http/context.js';
import type { Principal } from '../identity/access/principal.js';
import { deadlineOf, within } from '../platform/http/deadline.js';
import { bodyOf, queryOf } from '../platform/http/input.js';
import { pageAnswer, positionOf, type Cursors } from '../platform/http/lists.js';

export interface AgentRoutesDeps {
  config: Config;
  agents: Agents;
  cursors: Cursors;
}

/** Agents of the account that asks; another account's are not found, nor in live mode are test agents. */
export function createAgentRoutes({ config, agents, cursors }: AgentRoutesDeps) {
  /** @throws ServiceError AGENT_NOT_FOUND */
  async function find(ctx: ApiContext, { account, mode }: Principal, agentId: string): Promise<AgentDocument> {
    const agent = await within(deadlineOf(ctx), agents.findOf({ accountId: account._id, mode, agentId }));
    if (!agent) throw notFound();
    return agent;
  }

  /** @throws ServiceError AGENT_NOT_FOUND, FORBIDDEN when a test key asks for a live agent */
  async function findToChange(ctx: ApiContext, principal: Principal, agentId: string): Promise<AgentDocument> {
    const agent = await find(ctx, principal, agentId);
    const { actor, mode } = principal;
    if (actor.kind !== 'key' || mode === 'live' || modeOfAgent(agent) === 'test') return agent;
    throw new ServiceError(
      'FORBIDDEN',
      'A test key may not change a live agent. Use a live key, or create a test agent with this key and change that.',
    );
  }

  return {
    async list(ctx: ApiContext, { account, mode }: Principal): Promise<void> {
      const query = queryOf(AgentsQuery, ctx);
      const archived = query.archived === 'true';
      const list = `agents ${account._id} ${mode} ${archived}`;
      const asked = { accountId: account._id, mode, archived, ...positionOf(cursors, list, query) };
      ctx.body = pageAnswer(cursors, list, await within(deadlineOf(ctx), agents.page(asked)), agentView);
    },

    async create(ctx: ApiContext, { account, mode }: Principal): Promise<void> {
      const fields = await bodyOf(NewAgentBody, ctx);
      refuseBadWebhookUrl(fields.webhook_url, config);
      const agent = await within(
        deadlineOf(ctx),
        agents.create({
          voice: config.calls.defaultVoice,
          language: config.calls.defaultLanguage,
          ringTimeoutSeconds: config.calls.ringSeconds,
          ...(toStored(fields) as Pick<NewAgent, 'name' | 'instruction'>),
          accountId: account._id,
          mode,
        }),
      );
      ctx.state.target = agent._id;
      ctx.body = agentView(agent);
    },

    async read(ctx: ApiContext, principal: Principal, agentId: string): Promise<void> {
      ctx.body = agentView(await find(ctx, principal, agentId));
    },

    async update(ctx: ApiContext, principal: Principal, agentId: string): Promise<void> {
      const { archivedAt } = await findToChange(ctx, principal, agentId);
      if (archivedAt) throw notFound();
      const fields = await bodyOf(AgentChangesBody, ctx);
      refuseBadWebhookUrl(fields.webhook_url ?? undefined, config);
      const changed = await within(deadlineOf(ctx), agents.update(agentId, toStored(fields) as AgentChanges));
      ctx.body = agentView(changed);
    },

    async archive(ctx: ApiContext, principal: Principal, agentId: string): Promise<void> {
      await findToChange(ctx, principal, agentId);
      ctx.body = agentView(await within(deadlineOf(ctx), agents.archive(principal.account._id, agentId)));
    },
  };
}

function notFound(): ServiceError {
  return new ServiceError('AGENT_NOT_FOUND', 'There is no agent with this agent_id.');
}
