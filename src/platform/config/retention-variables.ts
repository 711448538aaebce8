import { z } from 'zod';

const MAX_DAYS = 36_500;
/** The last check of a call is over by then, and no client repeats its request any more. */
const FEWEST_DAYS_OF_CALLS = 7;
/** By then, the reconciler has ended every call whose workflow did not, and nothing asks for its run any more. */
const FEWEST_DAYS_OF_HISTORIES = 7;

const days = (about: string, production: string) =>
  z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_DAYS)
    .optional()
    .meta({
      description: `days after which ${about}; \`0\` keeps them forever. Production requires a value`,
      shown: '0 outside production',
      production,
    });

/** Environment variables that say how long each class of data is kept. */
export const retentionVariables = {
  CALL_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_DAYS)
    .refine((value) => value === 0 || value >= FEWEST_DAYS_OF_CALLS, 'must be 0, or 7 or more')
    .optional()
    .meta({
      description:
        'days after which a call is [deleted](operations/stored-data.md#retention) with all that belongs to it, 7 or more; `0` keeps calls forever. Production requires a value',
      shown: '0 outside production',
      production: '730',
    }),
  TRANSCRIPT_RETENTION_DAYS: days(
    'the transcript, summary and results of a call are deleted, and what its webhook contained',
    '90',
  ),
  RECORDING_RETENTION_DAYS: days('a recording and the tool calls of a trace are deleted', '90'),
  DELIVERY_RETENTION_DAYS: days('URL and body of a webhook are deleted, with the responses to it', '30'),
  CARRIER_EVENT_RETENTION_DAYS: days('the status callbacks of a call are deleted', '90'),
  AUDIT_RETENTION_DAYS: days('entries of the audit log are deleted', '730'),
  TEMPORAL_RETENTION_DAYS: z.coerce.number().int().min(FEWEST_DAYS_OF_HISTORIES).max(MAX_DAYS).optional().meta({
    description:
      'days after which Temporal deletes the history of a closed workflow, 7 or more. The [set-up](operations/install.md#your-own-temporal) gives the namespace this retention. Production requires a value',
    shown: 'that of the namespace outside production',
    production: '7',
  }),
};
