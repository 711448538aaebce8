// Creates, fetches, updates and lists calls with the official Go client, and prints what came back as JSON.
package main

import (
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/twilio/twilio-go"
	"github.com/twilio/twilio-go/client"
	api "github.com/twilio/twilio-go/rest/api/v2010"
)

// redirecting sends every request to the base URL instead of the host the client was made for.
type redirecting struct{ base *url.URL }

func (r redirecting) RoundTrip(request *http.Request) (*http.Response, error) {
	redirected := request.Clone(request.Context())
	redirected.URL.Scheme = r.base.Scheme
	redirected.URL.Host = r.base.Host
	redirected.Host = r.base.Host
	return http.DefaultTransport.RoundTrip(redirected)
}

func codeOf(err error) int {
	var refusal *client.TwilioRestError
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return 0
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	base, err := url.Parse(os.Getenv("CARRIER_BASE_URL"))
	must(err)
	accountSid := os.Getenv("CARRIER_ACCOUNT_SID")
	http := &http.Client{Timeout: 10 * time.Second, Transport: redirecting{base}}
	requests := &client.Client{
		Credentials: client.NewCredentials(accountSid, os.Getenv("CARRIER_AUTH_TOKEN")),
		HTTPClient:  http,
	}
	requests.SetAccountSid(accountSid)
	calls := twilio.NewRestClientWithParams(twilio.ClientParams{Client: requests}).Api

	to := os.Getenv("CALL_TO")
	var sids []string
	for i := 0; i < 3; i++ {
		create := &api.CreateCallParams{}
		create.SetTo(to)
		create.SetFrom("+15005550006")
		create.SetTwiml("<Response><Pause length='30'/></Response>")
		create.SetTimeout(30)
		call, err := calls.CreateCall(create)
		must(err)
		sids = append(sids, *call.Sid)
	}

	fetched, err := calls.FetchCall(sids[0], &api.FetchCallParams{})
	must(err)
	limited, err := calls.UpdateCall(sids[0], (&api.UpdateCallParams{}).SetTimeLimit(90))
	must(err)
	ended, err := calls.UpdateCall(sids[0], (&api.UpdateCallParams{}).SetStatus("completed"))
	must(err)
	every, err := calls.ListCall((&api.ListCallParams{}).SetTo(to).SetPageSize(2).SetLimit(100))
	must(err)
	started, err := calls.ListCall(
		(&api.ListCallParams{}).SetTo(to).SetStartTimeAfter(time.Now().UTC().Add(-time.Hour)).SetPageSize(2).SetLimit(100))
	must(err)
	_, refused := calls.UpdateCall(sids[0], (&api.UpdateCallParams{}).SetStatus("completed"))
	invalid := &api.CreateCallParams{}
	invalid.SetTo("+15005550001")
	invalid.SetFrom("+15005550006")
	invalid.SetTwiml("<Response/>")
	_, unreachable := calls.CreateCall(invalid)

	listed := []string{}
	for _, call := range every {
		listed = append(listed, *call.Sid)
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created": sids,
		"fetched": []string{*fetched.Sid, *fetched.To, *fetched.Direction},
		"limited": *limited.Sid,
		"ended":   []string{*ended.Sid, *ended.Status},
		"listed":  listed,
		"started": len(started),
		"refused": codeOf(refused),
		"invalid": codeOf(unreachable),
	}))
}
