import { Option, type Command } from 'commander';
import { wholeNumber } from '../arguments.js';
import { withAccess, withPages, type Run } from './command-parts.js';

/** The port used in the examples of the README. */
const PORT = 9_000;

/** Adds `callwright webhooks …`. */
export function addWebhookCommands(program: Command, run: Run): void {
  const load = () => import('./webhooks.js');
  const webhooks = withAccess(program.command('webhooks').description('deliveries of completion webhooks'));
  withPages(webhooks.command('list').description('deliveries, newest first'))
    .addOption(new Option('--state <state>', 'only those').choices(['pending', 'delivered', 'failed']))
    .action((options, command) => run(command, async () => (await load()).listWebhooks, options));
  webhooks
    .command('get <call_id>')
    .description('the delivery of one call with its body and attempts')
    .action((id, _options, command) => run(command, async () => (await load()).getWebhook, id));
  webhooks
    .command('redeliver <call_id>')
    .description('deliver it again')
    .action((id, _options, command) => run(command, async () => (await load()).redeliverWebhook, id));
  webhooks
    .command('listen')
    .description('receive webhooks on this machine, show them and pass them on, until Ctrl-C')
    .option('--forward-to <url>', 'pass each one on, and answer the service as this does')
    .option('--port <port>', 'listen there; 0 for any', wholeNumber, PORT)
    .option('--agent <agent_id>', 'let this agent send its webhooks here for so long')
    .option('--public-url <url>', 'where the service reaches it, when a tunnel leads here')
    .addHelpText(
      'after',
      '\nWith CALLWRIGHT_WEBHOOK_SECRET=whsec_…, signatures are checked; one that does not fit is answered 401.',
    )
    .action((options, command) => run(command, async () => (await import('./listen.js')).listen, options));
}
