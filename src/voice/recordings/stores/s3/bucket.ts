import type * as sdkOnly from '@aws-sdk/client-s3';
import type { S3Client } from '@aws-sdk/client-s3';
import { report } from '../../../../platform/telemetry/measurements.js';
import type { S3Settings } from '../../../../platform/config/recording-settings.js';

/** Time limit of a request with its retries. It transfers at most some megabytes. */
const REQUEST_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 3_000;
const ATTEMPTS = 3;
/** Requests of a process at once. Others wait. */
const MAX_SOCKETS = 200;

type Sdk = typeof sdkOnly;

/** An object, or the beginning of the keys of several. */
export interface Place {
  bucket: string;
  key: string;
}

interface Request {
  sdk: Sdk;
  client: S3Client;
  options: { abortSignal: AbortSignal };
}

export type Bucket = ReturnType<typeof createBucket>;

/**
 * Requests to S3, each with a time limit for all its attempts. Loads the SDK.
 * @param options.timeoutMs overridden only by tests
 */
export function createBucket(settings: S3Settings, { timeoutMs = REQUEST_TIMEOUT_MS } = {}) {
  // Begin at once: a media process must not load it while it carries calls.
  const loaded = load(settings);
  loaded.catch(() => undefined);
  const encryption = encryptionOf(settings);

  async function request<T>(operation: string, send: (p: Request) => Promise<T>, outer?: AbortSignal): Promise<T> {
    outer?.throwIfAborted();
    const over = new AbortController();
    const end = () => over.abort(outer?.reason);
    outer?.addEventListener('abort', end, { once: true });
    const timer = setTimeout(() => over.abort(new Error(`S3 has not answered ${operation} in time.`)), timeoutMs);
    const began = performance.now();
    let outcome: 'ok' | 'missing' | 'failed' = 'failed';
    try {
      const result = await send({ ...(await loaded), options: { abortSignal: over.signal } });
      outcome = 'ok';
      return result;
    } catch (error) {
      if (isMissing(error)) outcome = 'missing';
      // The SDK's own error says only that the request was aborted.
      throw over.signal.aborted ? over.signal.reason : error;
    } finally {
      clearTimeout(timer);
      outer?.removeEventListener('abort', end);
      if (outer?.aborted !== true) {
        report('objectRequest', { operation, outcome, seconds: (performance.now() - began) / 1_000 });
      }
    }
  }

  return {
    settings,

    put: ({ bucket, key }: Place, data: Uint8Array) =>
      request('put', async ({ sdk, client, options }) => {
        const input = { Bucket: bucket, Key: key, Body: data, ContentType: 'audio/basic', ...encryption };
        await client.send(new sdk.PutObjectCommand(input), options);
      }),

    /**
     * Reads a part of an object, `to` excluded.
     * @throws Error named NoSuchKey; Error if the object is shorter
     */
    get: ({ bucket, key }: Place, { from, to }: { from: number; to: number }, signal: AbortSignal) =>
      request(
        'get',
        async ({ sdk, client, options }) => {
          const input = { Bucket: bucket, Key: key, Range: `bytes=${from}-${to - 1}` };
          const { Body, ContentLength } = await client.send(new sdk.GetObjectCommand(input), options);
          if (Body === undefined || ContentLength !== to - from) {
            if (Body !== undefined && 'destroy' in Body) Body.destroy();
            throw new Error(`S3 returned ${ContentLength} bytes of ${key} instead of ${to - from}.`);
          }
          return Body.transformToByteArray();
        },
        signal,
      ),

    size: ({ bucket, key }: Place) =>
      request('head', async ({ sdk, client, options }) => {
        const { ContentLength } = await client.send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: key }), options);
        return ContentLength ?? 0;
      }),

    beginUpload: ({ bucket, key }: Place) =>
      request('begin_upload', async ({ sdk, client, options }) => {
        const input = { Bucket: bucket, Key: key, ContentType: 'audio/basic', ...encryption };
        const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(input), options);
        if (UploadId === undefined) throw new Error(`S3 began no upload of ${key}.`);
        return UploadId;
      }),

    /** @param number from 1 */
    uploadPart: ({ bucket, key }: Place, uploadId: string, number: number, data: Uint8Array) =>
      request('upload_part', async ({ sdk, client, options }) => {
        const input = { Bucket: bucket, Key: key, UploadId: uploadId, PartNumber: number, Body: data };
        const { ETag } = await client.send(new sdk.UploadPartCommand(input), options);
        if (ETag === undefined) throw new Error(`S3 returned no tag for a part of ${key}.`);
        return { PartNumber: number, ETag };
      }),

    completeUpload: ({ bucket, key }: Place, uploadId: string, parts: { PartNumber: number; ETag: string }[]) =>
      request('complete_upload', async ({ sdk, client, options }) => {
        const input = { Bucket: bucket, Key: key, UploadId: uploadId, MultipartUpload: { Parts: parts } };
        await client.send(new sdk.CompleteMultipartUploadCommand(input), options);
      }),

    /** Succeeds if there is no such upload. */
    abortUpload: ({ bucket, key }: Place, uploadId: string) =>
      request('abort_upload', async ({ sdk, client, options }) => {
        const input = { Bucket: bucket, Key: key, UploadId: uploadId };
        await client.send(new sdk.AbortMultipartUploadCommand(input), options).catch((error: unknown) => {
          if (!isMissing(error)) throw error;
        });
      }),

    /** One page of what is stored below a key, deleted versions included. @param after the page before */
    list: ({ bucket, key }: Place, after?: ObjectPage) =>
      request('list', (p) =>
        listVersions(p, { bucket, key }, after).catch((error: unknown) => {
          if (!(error instanceof Error) || error.name !== 'NotImplemented') throw error;
          return listObjects(p, { bucket, key }, after);
        }),
      ),

    delete: (bucket: string, objects: readonly ObjectVersion[]) =>
      request('delete', async ({ sdk, client, options }) => {
        const input = { Bucket: bucket, Delete: { Quiet: true, Objects: [...objects] } };
        const { Errors = [] } = await client.send(new sdk.DeleteObjectsCommand(input), options);
        const failed = Errors.filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion');
        if (failed.length > 0) {
          throw new Error(`S3 did not delete ${failed.length} objects, the first because of ${failed[0]?.Code}.`);
        }
      }),
  };
}

export interface ObjectVersion {
  Key: string;
  /** Absent if the bucket does not know versions. */
  VersionId?: string;
}

export interface ObjectPage {
  objects: ObjectVersion[];
  /** Where the next page begins; absent on the last page. */
  next?: { key: string; version?: string };
}

/** Whether an error says that an object or upload does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name);
}

function encryptionOf({ encryption, kmsKeyId }: S3Settings) {
  return {
    ...(encryption === 'none' ? {} : { ServerSideEncryption: encryption }),
    ...(encryption === 'aws:kms' ? { BucketKeyEnabled: true } : {}),
    ...(kmsKeyId === undefined ? {} : { SSEKMSKeyId: kmsKeyId }),
  };
}

async function load(settings: S3Settings): Promise<{ sdk: Sdk; client: S3Client }> {
  const sdk = await import('@aws-sdk/client-s3');
  const { region, endpoint, forcePathStyle, credentials } = settings;
  const client = new sdk.S3Client({
    region,
    forcePathStyle,
    maxAttempts: ATTEMPTS,
    ...(endpoint === undefined ? {} : { endpoint }),
    // By default the SDK's chain: environment, profile, role of the container or machine.
    ...(credentials === undefined ? {} : { credentials }),
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
      httpsAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
    },
  });
  return { sdk, client };
}

async function listVersions(p: Request, at: Place, after?: ObjectPage): Promise<ObjectPage> {
  const from = after?.next;
  const input = {
    Bucket: at.bucket,
    Prefix: at.key,
    ...(from && { KeyMarker: from.key, ...(from.version && { VersionIdMarker: from.version }) }),
  };
  const page = await p.client.send(new p.sdk.ListObjectVersionsCommand(input), p.options);
  const objects = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].flatMap(({ Key, VersionId }) =>
    Key === undefined ? [] : [{ Key, ...(VersionId === undefined ? {} : { VersionId }) }],
  );
  const { NextKeyMarker: key, NextVersionIdMarker: version } = page;
  const isMore = page.IsTruncated === true && key !== undefined;
  return { objects, ...(isMore ? { next: { key, ...(version ? { version } : {}) } } : {}) };
}

/** For stores that know no versions, such as Cloudflare R2. */
async function listObjects(p: Request, at: Place, after?: ObjectPage): Promise<ObjectPage> {
  const input = { Bucket: at.bucket, Prefix: at.key, ...(after?.next && { StartAfter: after.next.key }) };
  const page = await p.client.send(new p.sdk.ListObjectsV2Command(input), p.options);
  const objects = (page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]));
  const last = objects.at(-1);
  return { objects, ...(page.IsTruncated === true && last !== undefined ? { next: { key: last.Key } } : {}) };
}
