import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { Context } from '@temporalio/activity';
import type { mongo } from 'mongoose';
import type { Database } from '../../../src/database.js';

/** A command that the driver sent. */
export interface DatabaseCommand {
  /** The activity, or the method and path of the request, in which it was sent. */
  step: string;
  /** The call, if the step belongs to one. A request to place a call has none. */
  callId?: string;
  /** The name of the command and the collection. */
  text: string;
}

type Step = Omit<DatabaseCommand, 'text'>;

/** Reads of the server's clock, once a minute in each process, and the driver's own handshakes. */
const NOT_COUNTED = new Set(['hello', 'isMaster', 'ismaster', 'endSessions']);

const REQUEST_START = 'http.server.request.start';

/** Option of a connection string that makes the driver report its commands. */
export const MONITORING = '?monitorCommands=true';

/** Records every command of a database, which must have been opened with {@link MONITORING}. */
export function recordCommands({ connection }: Database) {
  const commands: DatabaseCommand[] = [];
  const requests = new AsyncLocalStorage<Step>();
  const client = connection.getClient();

  const onRequest = (message: unknown) => {
    const { method, url = '' } = (message as { request: IncomingMessage }).request;
    const callId = /call_[0-9A-Z]{26}/.exec(url)?.[0];
    const path = url.replace(/\?.*/, '').replace(/call_[0-9A-Z]{26}/, '{call_id}');
    requests.enterWith({ step: `${method} ${path}`, ...(callId === undefined ? {} : { callId }) });
  };
  const onCommand = ({ commandName, command }: mongo.CommandStartedEvent) => {
    if (NOT_COUNTED.has(commandName)) return;
    const step = activityStep() ?? requests.getStore() ?? { step: 'outside of any step' };
    commands.push({ ...step, text: `${commandName} ${String((command as mongo.Document)[commandName])}` });
  };
  subscribe(REQUEST_START, onRequest);
  client.on('commandStarted', onCommand);

  return {
    commands,
    clear: () => void commands.splice(0),
    /** The commands of a call by step, sorted, because callbacks and activities run at the same time. */
    stepsOf(callId: string): Record<string, string[]> {
      const steps: Record<string, string[]> = {};
      for (const command of commands) {
        if (command.callId !== undefined && command.callId !== callId) continue;
        (steps[command.step] ??= []).push(command.text);
      }
      return Object.fromEntries(Object.entries(steps).map(([step, texts]) => [step, texts.toSorted()]));
    },
    stop(): void {
      unsubscribe(REQUEST_START, onRequest);
      client.off('commandStarted', onCommand);
    },
  };
}

function activityStep(): Step | undefined {
  try {
    const { activityType, workflowExecution } = Context.current().info;
    return { step: activityType, ...(workflowExecution && { callId: workflowExecution.workflowId }) };
  } catch {
    // Not in an activity.
    return undefined;
  }
}
