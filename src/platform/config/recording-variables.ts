import { z } from 'zod';

/** A week of audio in one day. */
const MAX_TEST_RECORDING_MINUTES = 10_000;
const MAX_DOWNLOAD_GB = 100_000;

/** Environment variables of recordings, traces and how long they are kept. */
export const recordingVariables = {
  RECORDINGS: z.enum(['on', 'off']).default('on').meta({ description: '`off` records no call', production: 'on' }),
  SESSION_LOG: z.enum(['on', 'off']).default('off').meta({
    description:
      '`on` [stores the events of each conversation](engines.md#recorded-sessions) with its call, to look into incidents; they contain what was said',
  }),
  RECORDING_RETENTION_DAYS: z.coerce.number().int().min(0).max(36_500).default(0).meta({
    description: 'days after which a recording and the tool calls of a trace are deleted; `0` keeps them forever',
    production: '90',
  }),
  TEST_RECORDING_RETENTION_DAYS: z.coerce.number().int().min(0).max(36_500).default(7).meta({
    description:
      'days after which those of a test call are deleted, unless `RECORDING_RETENTION_DAYS` is sooner; with `0` only that applies',
    production: '7',
  }),
  TEST_RECORDING_MINUTES_PER_DAY: z
    .union(
      [z.literal('none'), z.coerce.number().int().min(0).max(MAX_TEST_RECORDING_MINUTES)],
      'must be a whole number from 0 to 10,000, or none',
    )
    .default(60)
    .meta({
      description:
        'minutes of recordings that an account’s test calls may have in a UTC day, or `none`; a minute takes 0.96 MB. Further test calls are not recorded',
      production: '60',
    }),
  RECORDING_DOWNLOAD_GB_PER_DAY: z
    .union(
      [z.literal('none'), z.coerce.number().int().min(1).max(MAX_DOWNLOAD_GB)],
      'must be a whole number from 1 to 100,000, or none',
    )
    .default(5)
    .meta({
      description:
        'gigabytes of recordings that an account may download in test mode, and in live mode, in a UTC day, or `none`; a minute has 1.92 MB. Live mode has 0.25 GB more for each USD that the account was ever billed',
      production: '5',
    }),
};
