import { isMissing, type Place, type SendRequest } from './requests.js';

/** A part of a multipart upload. */
export interface UploadedPart {
  /** From 1. */
  PartNumber: number;
  ETag: string;
}

export interface StoredPart extends UploadedPart {
  /** In bytes. */
  Size: number;
}

/** Requests for multipart uploads. @param encryption fields of requests that ask for it */
export function createUploads(request: SendRequest, encryption: object) {
  return {
    beginUpload: ({ bucket, key }: Place, signal?: AbortSignal): Promise<string> =>
      request(
        'begin_upload',
        async ({ sdk, client, options }) => {
          const input = { Bucket: bucket, Key: key, ContentType: 'audio/basic', ...encryption };
          const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(input), options);
          if (UploadId === undefined) throw new Error(`S3 began no upload of ${key}.`);
          return UploadId;
        },
        signal,
      ),

    /** @param number from 1 */
    uploadPart: (
      { bucket, key }: Place,
      { uploadId, number, data }: { uploadId: string; number: number; data: Uint8Array },
      signal: AbortSignal,
    ): Promise<UploadedPart> =>
      request(
        'upload_part',
        async ({ sdk, client, options }) => {
          const input = { Bucket: bucket, Key: key, UploadId: uploadId, PartNumber: number, Body: data };
          const { ETag } = await client.send(new sdk.UploadPartCommand(input), options);
          if (ETag === undefined) throw new Error(`S3 returned no tag for a part of ${key}.`);
          return { PartNumber: number, ETag };
        },
        signal,
      ),

    /** The first 1,000 parts of an upload, with their sizes. @throws Error named NoSuchUpload */
    uploadedParts: ({ bucket, key }: Place, uploadId: string, signal: AbortSignal) =>
      request(
        'list_parts',
        async ({ sdk, client, options }): Promise<StoredPart[]> => {
          const input = { Bucket: bucket, Key: key, UploadId: uploadId };
          const { Parts = [] } = await client.send(new sdk.ListPartsCommand(input), options);
          return Parts.flatMap(({ PartNumber, ETag, Size }) =>
            PartNumber === undefined || ETag === undefined || Size === undefined ? [] : [{ PartNumber, ETag, Size }],
          );
        },
        signal,
      ),

    completeUpload: ({ bucket, key }: Place, uploadId: string, parts: UploadedPart[], signal: AbortSignal) =>
      request(
        'complete_upload',
        async ({ sdk, client, options }) => {
          const input = { Bucket: bucket, Key: key, UploadId: uploadId, MultipartUpload: { Parts: parts } };
          await client.send(new sdk.CompleteMultipartUploadCommand(input), options);
        },
        signal,
      ),

    /** Succeeds if there is no such upload. */
    abortUpload: ({ bucket, key }: Place, uploadId: string, signal?: AbortSignal) =>
      request(
        'abort_upload',
        async ({ sdk, client, options }) => {
          const input = { Bucket: bucket, Key: key, UploadId: uploadId };
          await client.send(new sdk.AbortMultipartUploadCommand(input), options).catch((error: unknown) => {
            if (!isMissing(error)) throw error;
          });
        },
        signal,
      ),

    /** The first 1,000 unfinished uploads below a key. */
    uploadsBelow: ({ bucket, key }: Place, signal?: AbortSignal) =>
      request(
        'list_uploads',
        async ({ sdk, client, options }) => {
          const input = { Bucket: bucket, Prefix: key };
          const { Uploads = [] } = await client.send(new sdk.ListMultipartUploadsCommand(input), options);
          return Uploads.flatMap(({ Key, UploadId }) =>
            Key === undefined || UploadId === undefined ? [] : [{ key: Key, uploadId: UploadId }],
          );
        },
        signal,
      ),
  };
}
