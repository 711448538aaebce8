import { useState } from 'preact/hooks';
import { Page } from '../layout';
import { usePortal } from '../session';

export function Settings() {
  const { session } = usePortal();
  return (
    <Page title="Settings">
      <p>{session?.account.name}</p>
    </Page>
  );
}
void useState;
