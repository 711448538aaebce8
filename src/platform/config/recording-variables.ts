import { z } from 'zod';

/** A week of audio in one day. */
const MAX_TEST_RECORDING_MINUTES = 10_000;
const MAX_DOWNLOAD_GB = 100_000;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^([A-Za-z0-9._-]{1,100}\/){0,10}$/;

/** Environment variables of recordings, traces and how long they are kept. */
export const recordingVariables = {
  RECORDINGS: z.enum(['on', 'off']).default('on').meta({ description: '`off` records no call', production: 'on' }),
  SESSION_LOG: z.enum(['on', 'off']).default('off').meta({
    description:
      '`on` [stores the events of each conversation](engines.md#recorded-sessions) with its call, to look into incidents; they contain what was said',
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
  RECORDING_STORE: z.enum(['mongodb', 's3']).default('mongodb').meta({
    description:
      'where new recordings are stored: `mongodb`, or `s3` for [object storage](operations/stored-data.md#recordings-in-object-storage). Earlier ones stay where they are',
    production: 'mongodb',
  }),
  RECORDING_S3_BUCKET: z
    .string()
    .regex(BUCKET, 'must be the name of a bucket, like callwright-recordings')
    .optional()
    .meta({
      description:
        'bucket for recordings. Keep it while recordings are in it, also if `RECORDING_STORE` is `mongodb` again',
    }),
  RECORDING_S3_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, 'must be the name of a region, like eu-central-1')
    .default('us-east-1')
    .describe('region of the bucket; other stores than that of AWS mostly ignore it'),
  RECORDING_S3_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'address of the object storage; empty: that of AWS in the region. Production requires `https`, except in a private network',
    ),
  RECORDING_S3_PREFIX: z
    .string()
    .regex(PREFIX, 'must be a path that ends in a slash, like recordings/')
    .default('recordings/')
    .describe('beginning of the keys of all objects'),
  RECORDING_S3_FORCE_PATH_STYLE: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .default(false)
    .describe('whether requests have the bucket in the path instead of the host name, as most self-hosted stores need'),
  RECORDING_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe('access key; empty: the AWS SDK looks for credentials, for example the role of the machine or container'),
  RECORDING_S3_SECRET_ACCESS_KEY: z
    .string()
    .optional()
    .meta({ description: 'secret of `RECORDING_S3_ACCESS_KEY_ID`', secret: 'given' }),
  RECORDING_S3_ENCRYPTION: z.enum(['AES256', 'aws:kms', 'none']).default('AES256').meta({
    description:
      'server-side encryption that each object asks for: `AES256` (keys of the store), `aws:kms`, or `none` if the store encrypts its disks and rejects the header',
  }),
  RECORDING_S3_KMS_KEY_ID: z.string().optional().describe('key of AWS KMS for `aws:kms`; empty: the key of AWS for S3'),
};
