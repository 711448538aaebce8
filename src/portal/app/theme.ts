const KEY = 'callwright-theme';

/** Returns `light`, `dark`, or '' for the system theme. The choice is stored in the browser. */
export const chosenTheme = () => localStorage.getItem(KEY) ?? '';

export function chooseTheme(theme: string): void {
  localStorage.setItem(KEY, theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === '') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
