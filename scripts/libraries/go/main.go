// Command driver drives the server through the Go SDK: it does what the plan says and reports what it got, one line of
// JSON for each check. ../judges.mjs says whether that is right.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

type plan struct {
	Transport   string            `json:"transport"`
	Command     string            `json:"command"`
	Args        []string          `json:"args"`
	Env         map[string]string `json:"env"`
	URL         string            `json:"url"`
	Headers     map[string]string `json:"headers"`
	Calls       map[string]call   `json:"calls"`
	Resource    string            `json:"resource"`
	Prompt      prompt            `json:"prompt"`
	Typed       map[string]any    `json:"typed"`
	CallSeconds int               `json:"callSeconds"`
}

type prompt struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

type line = map[string]any

var (
	todo  plan
	stdin = bufio.NewReader(os.Stdin)
)

func say(fields line) {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	fmt.Printf("\n@%s\n", text)
}

// attempt runs a check and reports what it saw, or its error.
func attempt(check string, work func(context.Context) (line, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(todo.CallSeconds)*time.Second)
	defer cancel()
	fields, err := work(ctx)
	if err != nil {
		fields = line{"error": err.Error()}
	}
	fields["check"] = check
	say(fields)
}

// withHeaders adds the plan's headers to each request.
type withHeaders struct{}

func (withHeaders) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, value := range todo.Headers {
		request.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(request)
}

type human = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// open connects; without a human the client says that it cannot ask.
func open(ctx context.Context, answer human) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "driver", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: answer})
	if todo.Transport == "http" {
		http := &http.Client{Transport: withHeaders{}}
		return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: todo.URL, HTTPClient: http}, nil)
	}
	command := exec.Command(todo.Command, todo.Args...)
	for name, value := range todo.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	return client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
}

func textOf(content ...mcp.Content) string {
	var texts []string
	for _, part := range content {
		if text, ok := part.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func run(ctx context.Context, session *mcp.ClientSession, called call) (line, error) {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: called.Tool, Arguments: called.Arguments})
	if err != nil {
		return nil, err
	}
	return line{"text": textOf(result.Content...), "structured": result.StructuredContent, "isError": result.IsError}, nil
}

var queryID = regexp.MustCompile(`"query_id":"([0-9a-f-]{36})"`)

func page(ctx context.Context, session *mcp.ClientSession) (line, error) {
	first, err := run(ctx, session, todo.Calls["large"])
	if err != nil {
		return nil, err
	}
	found := queryID.FindStringSubmatch(first["text"].(string))
	if found == nil {
		return nil, errors.New("no query_id in the answer")
	}
	next := todo.Calls["page"]
	next.Arguments["query_id"] = found[1]
	return run(ctx, session, next)
}

func typed(ctx context.Context, session *mcp.ClientSession) (line, error) {
	fields := line{}
	for _, name := range []string{"large", "issued"} {
		answer, err := run(ctx, session, todo.Calls[name])
		if err != nil {
			return nil, err
		}
		fields[name] = answer["structured"]
	}
	return fields, nil
}

// unasked deletes without a human in the client: one answers elsewhere, and the call is made again.
func unasked(ctx context.Context, session *mcp.ClientSession) (line, error) {
	first, err := run(ctx, session, todo.Calls["unasked"])
	if err != nil {
		return nil, err
	}
	say(line{"ask": "approve", "text": first["text"]})
	if _, err = stdin.ReadString('\n'); err != nil {
		return nil, err
	}
	second, err := run(ctx, session, todo.Calls["unasked"])
	return line{"first": first, "second": second}, err
}

func listed(ctx context.Context, session *mcp.ClientSession) ([]string, line, error) {
	var names []string
	forms := line{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, nil, err
		}
		names = append(names, tool.Name)
		forms[tool.Name] = tool.InputSchema
	}
	return names, forms, nil
}

func checks(session *mcp.ClientSession) {
	attempt("list", func(ctx context.Context) (line, error) {
		names, _, err := listed(ctx, session)
		return line{"names": names}, err
	})
	attempt("convert", func(ctx context.Context) (line, error) {
		_, forms, err := listed(ctx, session)
		return line{"forms": forms}, err
	})
	attempt("query", func(ctx context.Context) (line, error) { return run(ctx, session, todo.Calls["query"]) })
	attempt("typed", func(ctx context.Context) (line, error) { return typed(ctx, session) })
	attempt("page", func(ctx context.Context) (line, error) { return page(ctx, session) })
	attempt("error", func(ctx context.Context) (line, error) { return run(ctx, session, todo.Calls["error"]) })
	attempt("resource", func(ctx context.Context) (line, error) {
		result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: todo.Resource})
		if err != nil {
			return nil, err
		}
		return line{"text": result.Contents[0].Text}, nil
	})
	attempt("prompt", func(ctx context.Context) (line, error) {
		params := &mcp.GetPromptParams{Name: todo.Prompt.Name, Arguments: todo.Prompt.Arguments}
		result, err := session.GetPrompt(ctx, params)
		if err != nil {
			return nil, err
		}
		return line{"text": textOf(result.Messages[0].Content)}, nil
	})
	attempt("unasked", func(ctx context.Context) (line, error) { return unasked(ctx, session) })
}

func asked(ctx context.Context, check string, result mcp.ElicitResult) (line, error) {
	questions := []string{}
	session, err := open(ctx, func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		questions = append(questions, request.Params.Message)
		return &result, nil
	})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	answer, err := run(ctx, session, todo.Calls[check])
	if err != nil {
		return nil, err
	}
	answer["questions"] = questions
	return answer, nil
}

func main() {
	if err := json.Unmarshal([]byte(os.Getenv("LIBRARY_PLAN")), &todo); err != nil {
		panic(err)
	}
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/modelcontextprotocol/go-sdk" {
			say(line{"version": strings.TrimPrefix(module.Version, "v")})
		}
	}
	session, err := open(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	checks(session)
	session.Close()
	attempt("declined", func(ctx context.Context) (line, error) {
		return asked(ctx, "declined", mcp.ElicitResult{Action: "decline"})
	})
	attempt("accepted", func(ctx context.Context) (line, error) {
		return asked(ctx, "accepted", mcp.ElicitResult{Action: "accept", Content: todo.Typed})
	})
}
