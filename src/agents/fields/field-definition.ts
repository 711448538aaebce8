import type { ConversationSettings } from '../../kernel/conversation/conversation-settings.js';

/**
 * The kind of value of a field. `field-rules.ts` validates each kind, `model.ts` stores it. `absentMeans` is the
 * effective value of an unset field.
 */
export type FieldKind =
  | { kind: 'label' | 'text'; max: number }
  | { kind: 'seconds'; min: number; max: number; initial: number }
  | { kind: 'number'; min: number; max: number; whole?: true }
  | { kind: 'choice'; of: readonly string[]; absentMeans?: string }
  | { kind: 'choices'; of: readonly string[] }
  | { kind: 'yesNo'; absentMeans: boolean }
  | { kind: 'phoneNumbers'; max: number }
  | { kind: 'terms'; max: number; maxCharacters: number }
  | { kind: 'pronunciations'; max: number; maxCharacters: number }
  | { kind: 'tools'; max: number }
  | { kind: 'providerId'; of: 'model' | 'voice' }
  | { kind: 'word' | 'language' | 'template' | 'url' | 'phoneNumber' };

interface CommandOption {
  /** Name of the command-line option without the dashes. It also identifies the field in error messages. */
  name: string;
  value?: string;
  about: string;
  /** Help text of the negated option, `--no-…`. */
  opposite?: string;
  /** A second option that reads the value from a file. */
  file?: { name: string; about: string };
  /** Name of the field for `--clear`. */
  clear?: string;
}

export type FieldDefinition = FieldKind & {
  /** Name of the field in MongoDB. */
  stored: string;
  /** `given`: required for a new agent; `filled`: the service has a default; `optional`: null removes it. */
  presence: 'given' | 'filled' | 'optional';
  /** Whether a call uses the value from the time of its request, even if the agent changes later. */
  inCall: boolean;
  /** Description in the OpenAPI document. */
  about: string;
  examples?: readonly unknown[];
  /** Label and hint in the portal's editor. */
  form: { label: string; hint?: string };
  option: CommandOption;
};

/** The groups that the portal's editor shows the settings of a conversation in. */
export type SettingsSection = 'conversation' | 'speech' | 'listening';

/** A field that is a setting of the conversation. */
export type SettingDefinition = FieldDefinition & {
  stored: keyof ConversationSettings;
  presence: 'optional';
  form: { section: SettingsSection };
};
