import type { ConversationSettings } from './conversation-settings.js';

/** The stages of the `pipeline` engine. */
export const PIPELINE_STAGES = ['stt', 'llm', 'tts'] as const;
export type PipelineStage = (typeof PIPELINE_STAGES)[number];

export type SettingName = keyof ConversationSettings;

/**
 * How a setting takes effect: `sent` to the provider, or done by our own `session`. The limits are those of a provider
 * that accepts fewer values than the field.
 */
export interface Support {
  done: 'sent' | 'session' | 'unsupported';
  min?: number;
  max?: number;
  /** The accepted values of a choice. */
  of?: readonly string[];
  /** Maximum bytes in UTF-8 of all texts of a list. */
  maxBytes?: number;
}

export const SENT = { done: 'sent' } as const;
export const SESSION = { done: 'session' } as const;
export const UNSUPPORTED = { done: 'unsupported' } as const;

/** A protocol of a provider of the pipeline, and its support of settings that the provider's stage decides. */
export interface SettingProtocol {
  name: string;
  /** A setting that is not named is not supported. */
  supports: { readonly [N in SettingName]?: Support };
}

/** The protocols that a pipeline uses. */
export type StageProtocols = { readonly [S in PipelineStage]: SettingProtocol };

/** A setting that an engine does not support with its value. */
export interface SettingFault {
  setting: SettingName;
  /** The settings whose values cause the fault. */
  settings: readonly SettingName[];
  /** One or two sentences without the name of the setting. */
  why: string;
}
