import { z } from 'zod';
import { urlFrom } from '../../kernel/text.js';
import { publicLink } from './customer-urls.js';

/** Environment variables of accounts: how they pay, who may join them, and the e-mail they receive. */
export const accountVariables = {
  PAYMENT_WEBHOOK_SECRET: z
    .string()
    .min(16)
    .optional()
    .meta({
      description:
        'signing secret of the payment provider’s webhook, which [credits top-ups](operating-money.md#top-ups); in production 32 characters or more. Without it top-ups are made on the command line',
      secret: { least: 32, remedy: "set the payment provider's, or one created with openssl rand -hex 32" },
      production: '',
    }),
  PAYMENT_LINK_IDS: z
    .string()
    .refine(
      (text) =>
        text.trim() === 'any' || text.split(',').every((item) => /^(?:\s*plink_[A-Za-z0-9_]{1,120})?\s*$/.test(item)),
      'must be a comma-separated list of ids of payment links, like plink_1AbC,plink_2DeF, or the word any',
    )
    .default('')
    .meta({
      description:
        'ids of the payment links that [sell top-ups](operating-money.md#top-ups), such as `plink_1AbC,plink_2DeF`; checkouts of others credit nothing. `any`: every paid checkout of the account at the provider is a top-up. Production with `PAYMENT_WEBHOOK_SECRET` requires a value',
      shown: '`any`; none in production',
      production: '',
    }),
  PAYMENT_URL: publicLink(['https:']).optional().meta({
    description:
      'page on which customers [add money](operating-money.md#top-ups), such as a payment link of your provider; the portal leads there when a balance is used up, and adds the account as `client_reference_id`',
    production: '',
  }),
  OPERATOR_CONTACT_URL: publicLink(['https:', 'mailto:']).optional().meta({
    description:
      'web page or `mailto:` address at which customers reach you; the portal shows it when a balance is used up',
    production: '',
  }),
  SELF_SERVICE_NUMBERS: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .meta({
      description: 'whether accounts may add and remove phone numbers themselves',
      shown: '`true`, in production `false`',
      production: '',
    }),
  SIGN_UP: z.enum(['off', 'invite', 'open']).optional().meta({
    description:
      'who can join the portal: `open` lets anybody open an account (in production it needs `SMTP_URL`), `invite` requires an invitation by a member or operator, `off` leaves it to `callwright admin members`',
    shown: '`open`, in production `invite`',
    production: 'invite',
  }),
  SMTP_URL: z
    .string()
    .refine(
      isSmtpUrl,
      'must begin with smtp:// or smtps://, like smtps://user:password@smtp.example.com (user and password are optional)',
    )
    .optional()
    .meta({
      description:
        'mail server, such as `smtps://user:password@smtp.example.com`. It turns on e-mail verification in development, too',
      shown: 'none: no e-mail',
      secret: 'password',
      production: '',
    }),
  MAIL_FROM: z
    .string()
    .max(320)
    .regex(
      /^(?:[^<>@"\p{Cc}]{1,100}<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u,
      'must be an address like Callwright <no-reply@example.com>',
    )
    .optional()
    .meta({
      description: 'sender of e-mail, such as `Callwright <no-reply@example.com>`; required by `SMTP_URL`',
      production: '',
    }),
};

function isSmtpUrl(text: string): boolean {
  const given = urlFrom(text);
  if (given === undefined) return false;
  const { protocol, hostname } = given;
  return ['smtp:', 'smtps:'].includes(protocol) && hostname !== '';
}
