package notebook

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown renders a Markdown text. HTML in it is left out, and so are addresses
// that could run something; pictures are shown when they are attachments of the
// cell or within the text, and are links otherwise, so that the page loads
// nothing.
func markdown(src string, attachments map[string]any) (string, error) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(pictures{attachments}, 100))))
	var b bytes.Buffer
	err := md.Convert([]byte(visible(src)), &b)
	return b.String(), err
}

// pictures puts attachments in place of their names, and links in place of
// pictures from elsewhere.
type pictures struct{ attachments map[string]any }

func (p pictures) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var list []*ast.Image
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if img, ok := n.(*ast.Image); ok && entering {
			list = append(list, img)
		}
		return ast.WalkContinue, nil // the walk itself cannot fail
	})
	for _, img := range list {
		if name, ok := strings.CutPrefix(string(img.Destination), "attachment:"); ok {
			if data := p.data(name); data != "" {
				img.Destination = []byte(data)
				continue
			}
		}
		if strings.HasPrefix(string(img.Destination), "data:image/") {
			continue
		}
		link := ast.NewLink()
		link.Destination, link.Title = img.Destination, img.Title
		for c := img.FirstChild(); c != nil; c = img.FirstChild() {
			link.AppendChild(link, c)
		}
		if parent := img.Parent(); parent != nil {
			parent.ReplaceChild(parent, img, link)
		}
	}
}

// data returns an attachment as an address, "" when there is no picture of that
// name.
func (p pictures) data(name string) string {
	forms, _ := p.attachments[name].(map[string]any)
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif"} {
		raw, ok := joined(forms[mime])
		if ok && raw != "" {
			return "data:" + mime + ";base64," + strings.Join(strings.Fields(raw), "")
		}
	}
	return ""
}
