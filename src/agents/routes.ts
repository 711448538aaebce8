import { isDeepStrictEqual } from 'node:util';
import { refuseBadWebhookUrl } from '../platform/egress/webhook-url.js';
import type { Config } from '../platform/config/config.js';
import type { agentRoutes } from './contract.js';
import { toStored } from './agent-definition.js';
import { agentView } from './agent-view.js';
import { ServiceError } from '../kernel/errors.js';
import type { AgentChanges } from './agent-fields.js';
import type { Agents, NewAgent } from './agents.js';
import { modeOfAgent } from './agent-mode.js';
import type { AgentDocument } from './model.js';
import type { ApiContext } from '../platform/http/context.js';
import type { Principal, RouteHandlers } from '../identity/access/principal.js';
import { deadlineOf, endOf, within } from '../platform/http/deadline.js';
import { answer } from '../platform/http/routing/answer.js';
import { pageAnswer, positionOf, type Cursors } from '../platform/http/lists.js';

export interface AgentHandlersDeps {
  config: Config;
  agents: Agents;
  cursors: Cursors;
}

/**
 * Creates the handlers for agents of the requesting account. Agents of other accounts, and test agents in live mode,
 * respond as not found.
 */
export function createAgentHandlers(deps: AgentHandlersDeps): RouteHandlers<typeof agentRoutes> {
  const { config, agents, cursors } = deps;

  /** @throws ServiceError AGENT_NOT_FOUND */
  async function find(ctx: ApiContext, { account, mode }: Principal, agentId: string): Promise<AgentDocument> {
    const agent = await within(deadlineOf(ctx), agents.findOf({ accountId: account._id, mode, agentId }));
    if (!agent) throw notFound();
    return agent;
  }

  /** @throws ServiceError AGENT_NOT_FOUND; FORBIDDEN when a test key tries to change a live agent */
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
    async listAgents({ ctx, principal: { account, mode }, query }) {
      const archived = query.archived === 'true';
      const list = `agents ${account._id} ${mode} ${archived}`;
      const position = positionOf(cursors, list, query);
      const asked = { accountId: account._id, mode, archived, ...position, signal: endOf(ctx) };
      return pageAnswer(cursors, list, await within(deadlineOf(ctx), agents.page(asked)), agentView);
    },

    async createAgent({ ctx, principal: { account, mode }, body: fields }) {
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
      return answer(agentView(agent), { target: agent._id });
    },

    async readAgent({ ctx, principal, params: { agent_id: agentId } }) {
      return agentView(await find(ctx, principal, agentId));
    },

    async updateAgent({ ctx, principal, params: { agent_id: agentId }, readBody }) {
      const before = await findToChange(ctx, principal, agentId);
      if (before.archivedAt) throw notFound();
      const fields = await readBody();
      refuseBadWebhookUrl(fields.webhook_url ?? undefined, config);
      const changed = await within(deadlineOf(ctx), agents.update(agentId, toStored(fields) as AgentChanges));
      return answer(agentView(changed), { unchanged: isSame(before, changed) });
    },

    async archiveAgent({ ctx, principal, params: { agent_id: agentId } }) {
      const { archivedAt } = await findToChange(ctx, principal, agentId);
      const agent = await within(deadlineOf(ctx), agents.archive(principal.account._id, agentId));
      return answer(agentView(agent), { unchanged: archivedAt !== undefined });
    },
  };
}

/** Whether an update changed nothing. Headers given again are encrypted again, so they count as changed. */
function isSame(before: AgentDocument, after: AgentDocument): boolean {
  return isDeepStrictEqual({ ...before, updatedAt: null }, { ...after, updatedAt: null });
}

function notFound(): ServiceError {
  return new ServiceError('AGENT_NOT_FOUND', 'There is no agent with this agent_id.');
}
