import { Option, type Command } from 'commander';
import { parseWholeNumber } from '../arguments.js';
import { withAccess, withPages, type Run } from './command-parts.js';

/** Default port, the one in the README's examples. */
const PORT = 9_000;

/** Adds `callwright webhooks …`. */
export function addWebhookCommands(program: Command, run: Run): void {
  const load = () => import('./webhooks.js');
  const webhooks = withAccess(program.command('webhooks').description('manage deliveries of completion webhooks'));
  withPages(webhooks.command('list').description('list deliveries, newest first'))
    .addOption(new Option('--state <state>', 'only those').choices(['pending', 'delivered', 'failed']))
    .action((options, command) => run(command, async () => (await load()).listWebhooks, options));
  webhooks
    .command('get <call_id>')
    .description('show the delivery of one call with its body and attempts')
    .action((id, _options, command) => run(command, async () => (await load()).getWebhook, id));
  webhooks
    .command('redeliver <call_id>')
    .description('send the webhook of a call again')
    .action((id, _options, command) => run(command, async () => (await load()).redeliverWebhook, id));
  webhooks
    .command('listen')
    .description('receive, print and forward webhooks on this machine until Ctrl-C')
    .option('--forward-to <url>', 'forward webhooks to this URL and return its responses')
    .option('--port <port>', 'port to listen on; 0 for any free port', parseWholeNumber, PORT)
    .option('--agent <agent_id>', 'send the webhooks of this agent here meanwhile')
    .option('--public-url <url>', 'URL of a tunnel to this listener')
    .addHelpText(
      'after',
      '\nWith CALLWRIGHT_WEBHOOK_SECRET=whsec_…, signatures are verified; an invalid one is rejected with 401.',
    )
    .action((options, command) => run(command, async () => (await import('./listen.js')).listen, options));
}
