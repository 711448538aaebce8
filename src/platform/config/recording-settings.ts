import type { Environment } from './environment.js';

/** Access to a bucket. */
export interface S3Settings {
  bucket: string;
  region: string;
  /** Absent: the address of AWS. */
  endpoint?: string | undefined;
  /** Beginning of all keys. */
  prefix: string;
  forcePathStyle: boolean;
  /** Absent: the SDK looks for them. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
  encryption: 'AES256' | 'aws:kms' | 'none';
  kmsKeyId?: string | undefined;
}

export function recordingSettings(values: Environment) {
  return {
    enabled: values.RECORDINGS === 'on',
    /** Where new recordings are stored. */
    store: values.RECORDING_STORE,
    /** Absent: no recording is in object storage. */
    s3: s3Settings(values),
    retentionDays: values.RECORDING_RETENTION_DAYS ?? 0,
    testRetentionDays: values.TEST_RECORDING_RETENTION_DAYS,
    /** Minutes of recordings per account and UTC day that test calls may have; absent: no limit. */
    testMinutesPerDay:
      values.TEST_RECORDING_MINUTES_PER_DAY === 'none' ? undefined : values.TEST_RECORDING_MINUTES_PER_DAY,
    /** Bytes of recordings that an account may download per mode and UTC day; absent: no limit. */
    downloadBytesPerDay:
      values.RECORDING_DOWNLOAD_GB_PER_DAY === 'none' ? undefined : values.RECORDING_DOWNLOAD_GB_PER_DAY * 1e9,
  };
}

/** Variables of recordings that do not fit together, one sentence for each. */
export function recordingFaults(values: Environment): string[] {
  const faults: string[] = [];
  if (values.RECORDING_STORE === 's3' && values.RECORDING_S3_BUCKET === undefined) {
    faults.push('RECORDING_STORE=s3 needs RECORDING_S3_BUCKET, the bucket for recordings.');
  }
  const { RECORDING_S3_ACCESS_KEY_ID: id, RECORDING_S3_SECRET_ACCESS_KEY: secret } = values;
  if ((id === undefined) !== (secret === undefined)) {
    faults.push('RECORDING_S3_ACCESS_KEY_ID and RECORDING_S3_SECRET_ACCESS_KEY must be set together.');
  }
  if (values.RECORDING_S3_KMS_KEY_ID !== undefined && values.RECORDING_S3_ENCRYPTION !== 'aws:kms') {
    faults.push('RECORDING_S3_KMS_KEY_ID needs RECORDING_S3_ENCRYPTION=aws:kms.');
  }
  return faults;
}

function s3Settings(values: Environment): S3Settings | undefined {
  const { RECORDING_S3_BUCKET: bucket } = values;
  const { RECORDING_S3_ACCESS_KEY_ID: accessKeyId, RECORDING_S3_SECRET_ACCESS_KEY: secretAccessKey } = values;
  if (bucket === undefined) return undefined;
  return {
    bucket,
    region: values.RECORDING_S3_REGION,
    endpoint: values.RECORDING_S3_ENDPOINT,
    prefix: values.RECORDING_S3_PREFIX,
    forcePathStyle: values.RECORDING_S3_FORCE_PATH_STYLE,
    ...(accessKeyId !== undefined && secretAccessKey !== undefined
      ? { credentials: { accessKeyId, secretAccessKey } }
      : {}),
    encryption: values.RECORDING_S3_ENCRYPTION,
    kmsKeyId: values.RECORDING_S3_KMS_KEY_ID,
  };
}
