import type { z } from 'zod';
import type { Config } from '../platform/config/config.js';
import type { agentRoutes } from './contract.js';
import { toStored } from './agent-definition.js';
import { agentView } from './agent-view.js';
import { ServiceError } from '../kernel/errors.js';
import type { AgentChanges } from './agent-fields.js';
import { agentNotFound, type Agents } from './agents.js';
import type { AgentWarning } from './fields/provider-ids.js';
import type { GivenFields } from './fields/whole-agent-check.js';
import type { NewAgentBody, SavedAgent } from './schemas.js';
import { modeOfAgent } from './agent-mode.js';
import type { AgentDocument } from './model.js';
import type { ApiContext } from '../platform/http/context.js';
import type { Principal, RouteHandlers } from '../identity/access/principal.js';
import { deadlineOf, abortSignalOf, withDeadline } from '../platform/http/deadline.js';
import { respond } from '../platform/http/routing/response.js';
import { createWrites } from '../platform/mongo/writes.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { pageResponse, positionOf, type Cursors } from '../platform/http/lists.js';

export interface AgentHandlersDeps {
  config: Config;
  agents: Agents;
  cursors: Cursors;
  logger: Logger;
}

/**
 * Creates the handlers for agents of the requesting account. Agents of other accounts respond as not found, and so do
 * test agents when the request is in live mode.
 */
export function createAgentHandlers(deps: AgentHandlersDeps): RouteHandlers<typeof agentRoutes> {
  const { config, agents, cursors, logger } = deps;

  /** @throws ServiceError AGENT_NOT_FOUND */
  async function find(ctx: ApiContext, { account, mode }: Principal, agentId: string): Promise<AgentDocument> {
    const agent = await withDeadline(deadlineOf(ctx), agents.findOf({ accountId: account._id, mode, agentId }));
    if (!agent) throw agentNotFound();
    return agent;
  }

  /** @throws ServiceError AGENT_NOT_FOUND; FORBIDDEN when a test key tries to change a live agent */
  async function findToChange(ctx: ApiContext, principal: Principal, agentId: string): Promise<AgentDocument> {
    const agent = await find(ctx, principal, agentId);
    assertMayChange(principal, agent);
    return agent;
  }

  return {
    async listAgents({ ctx, principal: { account, mode }, query }) {
      const archived = query.archived === 'true';
      const list = `agents ${account._id} ${mode} ${archived}`;
      const position = positionOf(cursors, list, query);
      const asked = { accountId: account._id, mode, archived, ...position, signal: abortSignalOf(ctx) };
      return pageResponse(cursors, list, await withDeadline(deadlineOf(ctx), agents.page(asked)), agentView);
    },

    async createAgent({ ctx, principal: { account, mode }, body: fields }) {
      const warnings = collectWarnings(logger);
      const agent = await withDeadline(
        deadlineOf(ctx),
        agents.create({ ...givenAgent(fields, config), accountId: account._id, mode }, warnings.add),
      );
      return respond(savedView(agent, warnings.all), { target: agent._id });
    },

    async readAgent({ ctx, principal, params: { agent_id: agentId } }) {
      return agentView(await find(ctx, principal, agentId));
    },

    async updateAgent({ ctx, principal, params: { agent_id: agentId }, readBody }) {
      const before = await findToChange(ctx, principal, agentId);
      if (before.archivedAt) throw agentNotFound();
      const fields = await readBody();
      const warnings = collectWarnings(logger);
      const writes = createWrites();
      const on = { warn: warnings.add, write: writes.add };
      const updated = agents.update(agentId, toStored(fields) as AgentChanges, on);
      const changed = await withDeadline(deadlineOf(ctx), updated);
      const checkedBytes = JSON.stringify(changed).length;
      return respond(savedView(changed, warnings.all), { unchanged: writes.isNone(), checkedBytes });
    },

    async archiveAgent({ ctx, principal, params: { agent_id: agentId } }) {
      const { archivedAt } = await findToChange(ctx, principal, agentId);
      const agent = await withDeadline(deadlineOf(ctx), agents.archive(principal.account._id, agentId));
      return respond(agentView(agent), { unchanged: archivedAt !== undefined });
    },
  };
}

/** Collects the warnings about one agent, and logs them for the operator, who may be able to remove the cause. */
function collectWarnings(logger: Logger) {
  const all: AgentWarning[] = [];
  return {
    all,
    add: (warning: AgentWarning): void => {
      all.push(warning);
      const what = warning.field === 'instruction' ? 'a prompt' : 'an id';
      logger.warn({ field: warning.field, reason: warning.why }, `agent saved with ${what} that needs attention`);
    },
  };
}

/** A saved agent, with the warnings about it. */
function savedView(agent: AgentDocument, warnings: readonly AgentWarning[]): SavedAgent {
  const shown = warnings.map(({ field, message }) => ({ param: field, message }));
  return { ...agentView(agent), ...(shown.length === 0 ? {} : { warnings: shown }) };
}

/** @throws ServiceError FORBIDDEN when a test key tries to change a live agent */
export function assertMayChange({ actor, mode }: Principal, agent: AgentDocument): void {
  if (actor.kind !== 'key' || mode === 'live' || modeOfAgent(agent) === 'test') return;
  throw new ServiceError(
    'FORBIDDEN',
    'A test key cannot change a live agent. Use a live key, or create a test agent with this key.',
  );
}

/** A new agent as a request gives it, with the service's defaults. */
export function givenAgent(fields: z.output<typeof NewAgentBody>, { calls }: Config): GivenFields {
  return {
    voice: calls.defaultVoice,
    language: calls.defaultLanguage,
    ringTimeoutSeconds: calls.ringSeconds,
    ...(toStored(fields) as Pick<GivenFields, 'name' | 'instruction'>),
  };
}
