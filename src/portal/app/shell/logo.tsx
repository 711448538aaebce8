import logo from './logo.svg';

/** The logo beside the name of the product. */
export function Brand() {
  return (
    <span class="brand">
      <img src={logo} alt="" width="24" height="24" />
      Callwright
    </span>
  );
}
