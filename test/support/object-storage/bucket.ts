import { randomUUID } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY } from './credentials.js';

/** The variables of a service that stores recordings in this bucket. */
export function variablesOf(bucket: string, endpoint = endpointOf()): Record<string, string> {
  return {
    RECORDING_STORE: 's3',
    RECORDING_S3_BUCKET: bucket,
    RECORDING_S3_ENDPOINT: endpoint,
    RECORDING_S3_FORCE_PATH_STYLE: 'true',
    RECORDING_S3_ACCESS_KEY_ID: ACCESS_KEY_ID,
    RECORDING_S3_SECRET_ACCESS_KEY: SECRET_ACCESS_KEY,
  };
}

export function endpointOf(): string {
  const endpoint = process.env['TEST_S3_ENDPOINT'];
  if (endpoint === undefined) throw new Error('The set-up of the tests has started no S3 server.');
  return endpoint;
}

/** Creates a bucket on the S3 server of the tests. */
export async function createTestBucket() {
  const name = `recordings-${randomUUID().slice(0, 8)}`;
  const client = new S3Client({
    region: 'us-east-1',
    endpoint: endpointOf(),
    forcePathStyle: true,
    credentials: { accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY },
  });
  await client.send(new CreateBucketCommand({ Bucket: name }));
  return {
    name,
    client,

    /** Keeps every version of an object from now on. */
    async keepVersions(): Promise<void> {
      const VersioningConfiguration = { Status: 'Enabled' as const };
      await client.send(new PutBucketVersioningCommand({ Bucket: name, VersioningConfiguration }));
    },

    /** Stores an object that looks as if it had been stored at this time. */
    async putAt(key: string, data: Uint8Array, time: Date): Promise<void> {
      await client.send(new PutObjectCommand({ Bucket: name, Key: key, Body: data }));
      await utimes(join(String(process.env['TEST_S3_DATA']), name, key), time, time);
    },

    /** The keys of everything that has this text in its key: objects, deleted versions, and unfinished uploads. */
    async keysWith(text: string): Promise<string[]> {
      const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: name }));
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: name }));
      const keys = [...Versions, ...DeleteMarkers, ...Uploads].map(({ Key = '' }) => Key);
      return keys.filter((key) => key.includes(text));
    },

    close: () => client.destroy(),
  };
}

export type TestBucket = Awaited<ReturnType<typeof createTestBucket>>;
