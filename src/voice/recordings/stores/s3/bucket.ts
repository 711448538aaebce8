import type { S3Settings } from '../../../../platform/config/recording-settings.js';
import { createRequests, type Place, type Request } from './requests.js';
import { createUploads } from './uploads.js';

export type Bucket = ReturnType<typeof createBucket>;

/**
 * Requests to S3, each with a time limit for all its attempts. Loads the SDK.
 * @param limits.timeoutMs overridden only by tests
 */
export function createBucket(settings: S3Settings, limits: { timeoutMs?: number } = {}) {
  const request = createRequests(settings, limits);
  const encryption = encryptionOf(settings);

  return {
    settings,

    put: ({ bucket, key }: Place, data: Uint8Array, signal?: AbortSignal) =>
      request(
        'put',
        async ({ sdk, client, options }) => {
          const input = { Bucket: bucket, Key: key, Body: data, ContentType: 'audio/basic', ...encryption };
          await client.send(new sdk.PutObjectCommand(input), options);
        },
        signal,
      ),

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

    /** @throws Error named NotFound */
    size: ({ bucket, key }: Place, signal: AbortSignal) =>
      request(
        'head',
        async ({ sdk, client, options }) => {
          const { ContentLength } = await client.send(new sdk.HeadObjectCommand({ Bucket: bucket, Key: key }), options);
          return ContentLength ?? 0;
        },
        signal,
      ),

    ...createUploads(request, encryption),

    /** One page of what is stored below a key, deleted versions included. @param after the page before */
    list: ({ bucket, key }: Place, after?: ObjectPage, signal?: AbortSignal) =>
      request(
        'list',
        (p) =>
          listVersions(p, { bucket, key }, after).catch((error: unknown) => {
            if (!(error instanceof Error) || error.name !== 'NotImplemented') throw error;
            return listObjects(p, { bucket, key }, after);
          }),
        signal,
      ),

    delete: (bucket: string, objects: readonly ObjectVersion[], signal?: AbortSignal) =>
      request(
        'delete',
        async ({ sdk, client, options }) => {
          const Objects = objects.map(({ Key, VersionId }) => ({ Key, ...(VersionId && { VersionId }) }));
          const input = { Bucket: bucket, Delete: { Quiet: true, Objects } };
          const { Errors = [] } = await client.send(new sdk.DeleteObjectsCommand(input), options);
          const failed = Errors.filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion');
          if (failed.length > 0) {
            throw new Error(`S3 did not delete ${failed.length} objects, the first because of ${failed[0]?.Code}.`);
          }
        },
        signal,
      ),
  };
}

export interface ObjectVersion {
  Key: string;
  /** Absent if the bucket does not know versions. */
  VersionId?: string;
}

/** An object, or a version of one. */
export interface ListedObject extends ObjectVersion {
  bytes: number;
  storedAt?: Date;
}

export interface ObjectPage {
  objects: ListedObject[];
  /** Where the next page begins; absent on the last page. */
  next?: { key: string; version?: string };
}

function encryptionOf({ encryption, kmsKeyId }: S3Settings) {
  return {
    ...(encryption === 'none' ? {} : { ServerSideEncryption: encryption }),
    ...(encryption === 'aws:kms' ? { BucketKeyEnabled: true } : {}),
    ...(kmsKeyId === undefined ? {} : { SSEKMSKeyId: kmsKeyId }),
  };
}

async function listVersions(p: Request, at: Place, after?: ObjectPage): Promise<ObjectPage> {
  const from = after?.next;
  const input = {
    Bucket: at.bucket,
    Prefix: at.key,
    ...(from && { KeyMarker: from.key, ...(from.version && { VersionIdMarker: from.version }) }),
  };
  const page = await p.client.send(new p.sdk.ListObjectVersionsCommand(input), p.options);
  const objects = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].flatMap(listed);
  const { NextKeyMarker: key, NextVersionIdMarker: version } = page;
  const isMore = page.IsTruncated === true && key !== undefined;
  return { objects, ...(isMore ? { next: { key, ...(version ? { version } : {}) } } : {}) };
}

/** For stores that know no versions, such as Cloudflare R2. */
async function listObjects(p: Request, at: Place, after?: ObjectPage): Promise<ObjectPage> {
  const input = { Bucket: at.bucket, Prefix: at.key, ...(after?.next && { StartAfter: after.next.key }) };
  const page = await p.client.send(new p.sdk.ListObjectsV2Command(input), p.options);
  const objects = (page.Contents ?? []).flatMap(listed);
  const last = objects.at(-1);
  return { objects, ...(page.IsTruncated === true && last !== undefined ? { next: { key: last.Key } } : {}) };
}

/** An entry of a list: an object, a version of one, or the mark of a deleted one, which has no size. */
interface Found {
  Key?: string | undefined;
  VersionId?: string | undefined;
  Size?: number | undefined;
  LastModified?: Date | undefined;
}

function listed(found: Found): ListedObject[] {
  const { Key, VersionId, Size: bytes = 0, LastModified: storedAt } = found;
  if (Key === undefined) return [];
  return [{ Key, bytes, ...(VersionId === undefined ? {} : { VersionId }), ...(storedAt && { storedAt }) }];
}
